// What a person settles with a decision on the review page, in a real browser: undone edits, open questions, a proposal next to an approved
// plan that is carried out, a former plan that comes back, and texts that outlive their browser. A decision from a terminal that other programs can read is marked so.
//
//   node decide.mjs PROGRAM PACKAGES CHROMIUM FOLDER [PICTURES]
import assert from 'node:assert/strict';
import { join } from 'node:path';

import { place, run } from '../process.mjs';
import { accessible, Agent, Browser, Review } from './browser.mjs';
import { files, passkeys, revised, workspace } from './stage.mjs';

const [program, packages, chromium, folder, pictures] = process.argv.slice(2);
const where = place(program, folder);
const browser = await Browser.start(packages, chromium);
try {
  await settled();
  await kept();
  await restored();
} finally {
  await browser.stop();
}

async function settled() {
  const here = workspace(where, 'settle', files);
  const review = await Review.start(packages, here), agent = await Agent.start(packages, here, 'claude-code');
  try {
    await agent.call('planning_submit_plan', passkeys);
    const ann = await browser.person({ viewport: { width: 1400, height: 900 } });
    const page = await ann.open(await review.link());
    await undone(agent, page, review);
    await answered(agent, page);
    await proposed(agent, page);
    assert.deepEqual(ann.complaints, [], 'the page complains of nothing');
  } finally {
    await agent.stop();
    await review.stop();
  }
  console.log('undone edits, questions, proposals and restored plans are settled on the page');
}

function decision(page) {
  return page.getByRole('region', { name: 'Decision' });
}

// undone: the agent submits its own text again after a person's edits. One edit is restored, the other let go.
async function undone(agent, page, review) {
  await decision(page).getByText(/, since \d\d:\d\d/).waitFor();
  await retitle(page, 7, 'Tell users on the blog');
  await review.unlock(page);
  await page.getByRole('button', { name: /^Step 7, .*on the blog/ }).waitFor();
  await retitle(page, 6, 'Test both ways in');
  await page.getByRole('button', { name: /^Step 6, .*both ways/ }).waitFor();
  await agent.call('planning_submit_plan', passkeys);
  const listed = decision(page).locator('.undone');
  await listed.getByText('2 of your edits were undone').waitFor();
  await page.getByRole('button', { name: 'I have seen it' }).click();
  await picture(page, 'undone');
  await accessible(packages, page, 'undone edits');
  const of = (n) => listed.getByRole('listitem').filter({ hasText: `S00${n}` });
  await of(7).getByRole('button', { name: 'Restore' }).click();
  await page.getByRole('button', { name: /^Step 7, .*on the blog/ }).waitFor();
  await listed.getByText('1 of your edits was undone').waitFor();
  await of(6).getByRole('button', { name: 'Accept' }).click(); // a person's own change counts as seen
  await listed.waitFor({ state: 'detached' });
  await page.getByRole('button', { name: /^Step 6, .*end to end/ }).waitFor();
}

async function retitle(page, n, title) {
  await page.getByRole('button', { name: `Edit step ${n}` }).click();
  const form = page.locator('form').filter({ has: page.getByRole('button', { name: 'Save' }) });
  await form.getByLabel('Title').fill(title);
  await form.getByRole('button', { name: 'Save' }).click();
}

// answered: the bar leads to the question, and its answer goes with the approval.
async function answered(agent, page) {
  const approve = decision(page).getByRole('button', { name: /^Approve(, |$)/ });
  assert.equal(await approve.textContent(), 'Approve, 1 unanswered');
  assert.equal(await page.getByLabel(/security keys without a screen/).count(), 1, 'the question stands once');
  await decision(page).getByRole('button', { name: 'Answer a question' }).click();
  await page.locator('textarea:focus').waitFor();
  await page.keyboard.type('Yes, all of them.');
  assert.equal(await approve.textContent(), 'Approve');
  const { height } = await decision(page).boundingBox();
  assert.ok(height < 60, `questions do not make the bar high: ${height}`);
  await picture(page, 'answers');
  await approve.click();
  await page.getByRole('region', { name: 'What comes next' }).waitFor();
  const told = JSON.stringify(await agent.call('planloop_status', {}));
  assert.ok(told.includes('Yes, all of them.'), told);
}

// proposed: a proposal waits while the approved plan continues; letting it go drops only the proposal.
async function proposed(agent, page) {
  await agent.call('planning_mark_step', { step_id: 'S001', status: 'in_progress' });
  await agent.call('planloop_update', { replan: { changes: 'Measure first', reasoning: 'The number decides.' }, add_tasks: [
    { title: 'Measure how many users have a passkey', type: 'feature', context_hints: ['Count in `internal/login/login.go`.'], relevant_file_paths: ['internal/login/login.go'],
      acceptance_criteria: ['The number is on the dashboard'] }] });
  await decision(page).getByText('A change to the plan is waiting for your decision').waitFor();
  await decision(page).getByText('The approved plan continues').waitFor();
  await picture(page, 'proposal');
  await accessible(packages, page, 'a proposal');
  await page.getByRole('button', { name: 'Changes', exact: true }).click();
  await page.getByRole('article').filter({ hasText: 'Measure how many users' }).first().waitFor();
  await picture(page, 'proposal-changes');
  await page.getByRole('button', { name: 'Plan', exact: true }).click();
  await agent.call('planning_mark_step', { step_id: 'S001', status: 'done', note: 'Three places.' });
  await page.getByRole('button', { name: 'Current plan', exact: true }).click();
  await page.getByRole('button', { name: /^Step 1, done/ }).waitFor();
  await page.locator('.menu > summary').click();
  await decision(page).getByRole('button', { name: 'Let it go' }).click();
  await decision(page).waitFor({ state: 'detached' });
  await page.getByRole('button', { name: /^Step 7, / }).waitFor();
  assert.equal(await page.getByRole('button', { name: /^Step 8, / }).count(), 0, 'the proposed step is dropped');
  await agent.call('planning_mark_step', { step_id: 'S002', status: 'in_progress' });
  await page.getByRole('button', { name: /^Step 2, in progress/ }).waitFor();
}

// kept: a browser ends, and all that it stored is lost. Another one has the texts that were typed in it, and sends them.
async function kept() {
  const here = workspace(where, 'kept', files), lost = await Browser.start(packages, chromium);
  const review = await Review.start(packages, here), agent = await Agent.start(packages, here, 'codex');
  try {
    await agent.call('planning_submit_plan', passkeys);
    const ann = await lost.person({ viewport: { width: 1400, height: 900 } });
    const page = await ann.open(await review.link());
    const comment = async (step, text) => {
      await page.getByRole('button', { name: `Comment on step ${step}` }).click();
      await page.getByRole('textbox', { name: `Comment on step ${step}` }).fill(text);
    };
    await comment(2, 'Which lock?');
    await page.getByRole('button', { name: 'Add comment' }).click();
    await comment(3, 'Half a thought');
    await page.getByLabel(/security keys without a screen/).fill('Yes, all.');
    await page.getByRole('button', { name: 'Edit step 7' }).click();
    const saved = page.waitForResponse(async (answer) => answer.url().endsWith('/api/keep') && answer.request().postData().includes('on the blog'));
    await page.getByLabel('Title').fill('Tell users on the blog');
    assert.equal((await saved).status(), 200);
    assert.deepEqual(ann.complaints, []);
    await lost.stop();
    const other = await browser.person({ viewport: { width: 1400, height: 900 } });
    const again = await other.open(await review.link());
    await again.getByText('4 unsent texts are back.').waitFor();
    await again.getByText('1 comment to send with your decision').waitFor();
    await decision(again).getByText('Which lock?').waitFor(); // its list is open
    await picture(again, 'restored-texts');
    await accessible(packages, again, 'texts of another browser');
    await again.getByRole('button', { name: 'Comment on step 3' }).click();
    assert.equal(await again.getByRole('textbox', { name: 'Comment on step 3' }).inputValue(), 'Half a thought');
    await again.getByRole('button', { name: 'Edit step 7' }).click();
    assert.equal(await again.getByRole('textbox', { name: 'Title' }).inputValue(), 'Tell users on the blog');
    await decision(again).getByRole('button', { name: 'Approve', exact: true }).click();
    await review.unlock(again);
    await again.getByRole('region', { name: 'What comes next' }).waitFor();
    const told = JSON.stringify(await agent.call('planloop_status', {}));
    assert.ok(told.includes('Which lock?') && told.includes('Yes, all.'), told);
    assert.deepEqual(other.complaints, []);
  } finally {
    await lost.stop();
    await agent.stop();
    await review.stop();
  }
  console.log('texts outlive the browser they were typed in');
}

// restored: a person decides at a terminal that other programs can read, and a script brings the rejected plan back.
async function restored() {
  const here = workspace(where, 'restored', files);
  const review = await Review.start(packages, { ...here, env: { ...here.env, TMUX: '/tmp/planloop-test,1,0' } }), agent = await Agent.start(packages, here, 'codex');
  try {
    await agent.call('planning_submit_plan', passkeys);
    const ann = await browser.person({ viewport: { width: 1400, height: 900 } });
    const page = await ann.open(await review.link());
    await page.locator('.menu > summary').click();
    await page.getByRole('button', { name: 'Reject…' }).click();
    await page.getByLabel('Reason').fill('Not this year.');
    await page.getByRole('button', { name: 'Reject the plan' }).click();
    await review.unlock(page);
    await decision(page).waitFor({ state: 'detached' });
    const { output } = await run(program, ['log', '--audit', '--json'], { cwd: here.workspace, env: here.env });
    assert.match(output, /"way":\s*"person \(shared terminal\)"/);
    const former = await run(program, ['plan', 'list', '--json'], { cwd: here.workspace, env: here.env });
    const [, id] = /"(?:plan_id|id)":\s*"([^"]+)"/.exec(former.output);
    const back = await run(program, ['plan', 'restore', id], { cwd: here.workspace, env: here.env });
    assert.equal(back.status, 0, back.errors);
    await decision(page).getByText('A plan is waiting for your decision').waitFor();
    await decision(page).getByText(/rejected by .*Not this year/).first().waitFor();
    await picture(page, 'restored');
    await accessible(packages, page, 'a restored plan');
    assert.deepEqual(ann.complaints, [], 'the page complains of nothing');
  } finally {
    await agent.stop();
    await review.stop();
  }
  console.log('a plan that was rejected on a shared terminal comes back with that decision');
}

async function picture(page, name) {
  if (!pictures) return;
  await page.screenshot({ path: join(pictures, `${name}.png`) });
  const { width, height } = page.viewportSize();
  await page.setViewportSize({ width: 390, height: 844 });
  await page.waitForTimeout(200);
  await page.screenshot({ path: join(pictures, `${name}-phone.png`) });
  await page.setViewportSize({ width, height });
}
