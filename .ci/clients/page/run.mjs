// A plan that planloop carries out, watched and controlled on the review page in a real browser: started there, paused and resumed; its
// steps approved with other arguments, denied, retried, skipped, answered; revised by an agent after a critical failure; an engine that is
// killed; and the ways on when no more steps can start.
//
//   node run.mjs PROGRAM PACKAGES CHROMIUM FOLDER [PICTURES]
import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { place } from '../process.mjs';
import { Terminal } from '../terminal.mjs';
import { accessible, Agent, Browser, Review } from './browser.mjs';
import { files, workspace } from './stage.mjs';

const [program, packages, chromium, folder, pictures] = process.argv.slice(2);
const where = place(program, folder);
const browser = await Browser.start(packages, chromium);
try {
  await steered();
  await stopped();
  await brokenOff();
  await stuck();
} finally {
  await browser.stop();
}

// step returns a step of a plan, with the fields that the gates require.
function step(title, more) {
  return { title, type: 'chore', context_hints: ['See `README.md`.'], relevant_file_paths: ['README.md'], ...more };
}

// shell returns a step that runs a command.
function shell(title, command, more) {
  return step(title, { tool: 'bash_execute', args: { command }, ...more });
}

// until returns a command that runs until the test writes a file, and prints a count.
function until(file, what) {
  return `n=0; until [ -e ${file} ]; do n=$((n+1)); echo ${what} $n; sleep 0.1; done`;
}

function release() {
  return {
    summary: 'Ship version 2.',
    steps: [
      shell('Build the program', `${until('parts', 'compiled part')}; echo all parts are compiled`),
      shell('Release it', '', { requires_approval: true, dependencies: [1], args: { command: 'printf %s "$TO" > released', env: { TO: 'production' } } }),
      shell('Delete the old release', 'touch deleted', { requires_approval: true, dependencies: [1] }),
      shell('Tell the mirrors', 'test -e mirror || { echo no mirror answers >&2; exit 3; }; echo told', { dependencies: [1] }),
      step('Choose the day', { pause: 'On which day is it announced?', dependencies: [1] }),
      shell('Print the posters', 'touch printed', { dependencies: [5] }),
      shell('Announce it', 'echo the list is closed >&2; exit 4', { critical: true, dependencies: [2, 5] }),
    ],
  };
}

async function steered() {
  const here = workspace(where, 'ship', files);
  const review = await Review.start(packages, here), agent = await Agent.start(packages, here, 'claude-code');
  try {
    await agent.call('planning_submit_plan', release());
    const alice = await browser.person({ viewport: { width: 1400, height: 900 } });
    const page = await alice.open(await review.link()), other = await alice.open(`${review.origin}/`);
    await begun(page, other, review);
    await pausedAndGoneOn(page, other, here);
    await approvedOtherwise(page, other, here);
    await denied(page, here);
    await skipped(page);
    await triedAgain(page, here);
    await answered(page, other);
    await revised(agent, page, other, here);
    await former(page);
    assert.deepEqual(alice.complaints, [], 'the page complains of nothing');
  } finally {
    await agent.stop();
    review.kill(); // it would wait for running steps
  }
  console.log('a run is started, paused, steered and revised on the page, and two tabs agree');
}

// running returns the page's section on the run.
function running(page) {
  return page.getByRole('region', { name: 'Run', exact: true });
}

// asks returns the entry of a step that is running, has failed or asks a question.
function asks(page, n) {
  return running(page).getByRole('article', { name: `Step ${n}`, exact: true });
}

function ended(page, n, status) {
  return running(page).getByRole('listitem').filter({ hasText: new RegExp(`${status} ${n}`) });
}

async function begun(page, other, review) {
  await page.getByRole('button', { name: /^Approve(, |$)/ }).click();
  await review.unlock(page);
  await page.getByRole('region', { name: 'What comes next' }).getByRole('button', { name: 'Start a run here' }).click();
  for (const p of [page, other]) {
    await p.getByRole('button', { name: /^Step 1, in progress/ }).waitFor();
    await p.keyboard.press('4');
    await running(p).getByText(/compiled part 2/).waitFor(); // the output is live
  }
  await picture(page, 'run');
  await accessible(packages, page, 'a step at work');
}

async function pausedAndGoneOn(page, other, here) {
  await page.getByRole('button', { name: 'Pause', exact: true }).click();
  for (const p of [page, other]) await running(p).getByText(/The run is paused/).waitFor();
  await asks(page, 1).locator('pre', { hasText: /compiled part/ }).waitFor(); // running steps continue
  writeFileSync(join(here.workspace, 'parts'), '');
  for (const p of [page, other]) await ended(p, 1, 'done').waitFor();
  await ended(page, 1, 'done').locator('summary').click();
  await running(page).getByText('all parts are compiled').waitFor();
  assert.equal(await running(page).getByRole('article').count(), 0, 'nothing more is started');
  await other.getByRole('button', { name: 'Resume here' }).click(); // the code was typed in the first tab
  for (const p of [page, other]) for (const n of [2, 3, 4, 5]) await asks(p, n).waitFor();
  await picture(page, 'run-asks');
  await accessible(packages, page, 'steps that ask');
}

// approvedOtherwise approves with other arguments, with only the keyboard.
async function approvedOtherwise(page, other, here) {
  const keys = page.keyboard, ask = asks(page, 2);
  await page.locator('main').focus();
  await tabTo(page, ask.getByRole('button', { name: 'Edit the arguments' }));
  await keys.press('Enter');
  const field = page.getByRole('textbox', { name: 'Arguments of step 2, as JSON' });
  await page.locator('textarea:focus').waitFor();
  const args = await field.inputValue();
  await keys.press('Control+a');
  await keys.type('{ "command": ');
  await ask.getByText(/Not valid JSON/).waitFor();
  assert.ok(await ask.getByRole('button', { name: 'Approve the step' }).isDisabled());
  await accessible(packages, page, 'arguments that are none');
  await keys.press('Control+a');
  await keys.insertText(args.replace('production', 'staging'));
  await tabTo(page, ask.getByRole('button', { name: 'Approve with these arguments' }));
  await keys.press('Enter');
  for (const p of [page, other]) await ended(p, 2, 'done').waitFor();
  assert.equal(readFileSync(join(here.workspace, 'released'), 'utf8'), 'staging', 'what was approved is what is run');
  assert.notEqual(await page.evaluate(() => document.activeElement?.tagName), 'BODY', 'the keyboard stays in the page');
}

async function denied(page, here) {
  await asks(page, 3).getByRole('button', { name: 'Deny' }).click();
  await asks(page, 3).waitFor({ state: 'detached' });
  await page.keyboard.press('1');
  await page.getByRole('button', { name: /^Step 3, skipped/ }).waitFor();
  assert.ok(!existsSync(join(here.workspace, 'deleted')), 'what was denied is not run');
}

// skipped skips a future step, with only the keyboard.
async function skipped(page) {
  const keys = page.keyboard;
  for (let n = 0; n < 6; n++) await keys.press('j');
  await keys.press('x');
  await page.getByRole('textbox', { name: 'Reason for skipping step 6' }).and(page.locator(':focus')).waitFor();
  await keys.type('Nobody reads posters.');
  await keys.press('Enter');
  await page.getByRole('button', { name: /^Step 6, skipped/ }).waitFor();
  await keys.press('4');
}

async function triedAgain(page, here) {
  const failed = asks(page, 4);
  await failed.getByText('no mirror answers').waitFor();
  writeFileSync(join(here.workspace, 'mirror'), '');
  await failed.getByRole('button', { name: 'Try again', exact: true }).click();
  await ended(page, 4, 'done').waitFor();
}

async function answered(page, other) {
  await asks(page, 5).getByRole('textbox', { name: 'Answer to step 5' }).fill('On Monday.');
  await page.keyboard.press('Control+Enter');
  for (const p of [page, other]) await ended(p, 5, 'done').getByText('answered').waitFor();
}

// revised: after a critical step has failed, an agent submits a new version, and the person approves it.
async function revised(agent, page, other, here) {
  for (const p of [page, other]) await running(p).getByText('The run is stuck: step 7 failed').waitFor();
  await picture(page, 'run-failed');
  await accessible(packages, page, 'a critical failure');
  await agent.call('planloop_update', {
    replan: { changes: 'Announced in the forum', reasoning: 'The list is closed.' },
    update_tasks: [{ id: 7, title: 'Announce it in the forum', args: { command: 'touch announced' } }],
  });
  const decision = page.getByRole('region', { name: 'Decision' });
  await decision.getByText('A change to the plan is waiting for your decision').waitFor();
  await picture(page, 'run-revised');
  await decision.getByRole('button', { name: /^Approve(, |$)/ }).click();
  await decision.waitFor({ state: 'detached' });
  await other.getByRole('button', { name: 'Resume here' }).click();
  for (const p of [page, other]) await ended(p, 7, 'done').getByText('Announce it in the forum').waitFor();
  await page.keyboard.press('1');
  await page.getByText('completed, version 2').waitFor();
  assert.ok(existsSync(join(here.workspace, 'announced')));
}

// former: the replaced version can be read as it was, with the changes that the new one made; a reload and Back lead there.
async function former(page) {
  await page.getByRole('button', { name: 'Changes', exact: true }).click();
  await page.getByRole('article', { name: 'Step 7, changed' }).getByText('in the forum').waitFor();
  await page.keyboard.press('1');
  await page.locator('main').focus();
  await tabTo(page, page.getByText('1 earlier plan'));
  await page.keyboard.press('Enter');
  await tabTo(page, page.getByRole('button', { name: 'Ship version 2', exact: false }).last());
  await page.keyboard.press('Enter');
  for (const again of [true, false]) {
    await page.getByRole('region', { name: 'Earlier plan' }).getByText('An earlier plan, replaced by version 2').waitFor();
    await page.getByRole('button', { name: /^Step 7, failed: Announce it$/ }).click();
    await page.getByRole('article', { name: 'Step 7' }).getByText('the list is closed').first().waitFor();
    assert.equal(await page.getByRole('button', { name: /^(Edit|Skip|Comment|Try again|Move)/ }).count(), 0, 'nothing can be done there');
    if (again) await page.reload();
  }
  await picture(page, 'former');
  await accessible(packages, page, 'an earlier plan');
  await page.getByRole('button', { name: 'Log', exact: true }).click();
  await page.getByRole('region', { name: 'Log' }).getByText(/submitted/).last().waitFor();
  assert.equal(await page.getByRole('region', { name: 'Log' }).getByText(/complete/).count(), 0, 'its log ends with it');
  await page.keyboard.press('b');
  await page.getByText('completed, version 2').waitFor();
  await page.goBack();
  await page.getByRole('region', { name: 'Earlier plan' }).waitFor();
}

// stopped: a person stops two running steps. One is safe to repeat and fails; the outcome of the other is unknown. One list names what the
// run waits for.
async function stopped() {
  const here = workspace(where, 'stop', files);
  const review = await Review.start(packages, here), agent = await Agent.start(packages, here, 'cursor');
  try {
    await agent.call('planning_submit_plan', { summary: 'Fill the caches.', steps: [
      shell('Warm the cache', until('warm', 'entry'), { idempotent: true, lock: 'cache', cwd: 'web', retry: { attempts: 3, wait: '5s', on: [75, 'timeout'] } }),
      shell('Send the news', until('sent', 'letter'), { output_file: 'news.txt' }), shell('Drop the old cache', 'touch dropped', { requires_approval: true }),
      shell('Close the books', 'touch closed', { always: true })] });
    const dora = await browser.person();
    const page = await dora.open(await review.link());
    await page.getByRole('button', { name: /^Approve(, |$)/ }).click();
    await review.unlock(page);
    await page.getByRole('region', { name: 'What comes next' }).getByRole('button', { name: 'Start a run here' }).click();
    await page.keyboard.press('4');
    await running(page).getByText(/letter 2/).waitFor();
    await picture(page, 'run-stoppable');
    await running(page).getByRole('button', { name: 'Stop step 2' }).click();
    await asks(page, 2).getByText(/^Stopped by .* Check whether it was done\.$/).waitFor();
    await asks(page, 2).getByText(/letter 2/).waitFor(); // its output shows the progress
    await page.keyboard.press('1');
    await page.getByRole('button', { name: /^Step 1, in progress/ }).click();
    const step = page.getByRole('article', { name: 'Step 1', exact: true });
    await step.getByText('up to 3 attempts, at first 5s apart, after exit code 75 or a timeout').waitFor();
    await picture(page, 'step-stoppable');
    await accessible(packages, page, 'a step that can be stopped');
    await step.getByRole('button', { name: 'Stop step 1' }).click();
    await step.getByText(/^stopped by /).waitFor();
    await page.keyboard.press('4');
    const list = running(page).getByRole('region', { name: 'Waiting for' });
    for (const what of [/^S003 .* asks for a person's approval/, /^S002 .* its outcome is unknown/, /^S001 .* failed/]) await list.getByRole('button', { name: what }).waitFor();
    await picture(page, 'run-stopped');
    await accessible(packages, page, 'a run with stopped steps');
    await list.getByRole('button', { name: /^S001/ }).click();
    await asks(page, 1).and(page.locator(':focus')).waitFor();
    assert.deepEqual(dora.complaints, [], 'the page complains of nothing');
  } finally {
    await agent.stop();
    review.kill();
  }
  console.log('running steps are stopped on the page, which lists what the run waits for');
}

// brokenOff: the engine on another terminal is killed. The page reports it, and asks for the step's outcome.
async function brokenOff() {
  const here = workspace(where, 'engine', files);
  const review = await Review.start(packages, here), agent = await Agent.start(packages, here, 'codex');
  try {
    await agent.call('planning_submit_plan', { summary: 'Move the tables.', steps: [shell('Copy them', until('copied', 'table')), shell('Switch over', 'touch switched', { dependencies: [1] })] });
    const bob = await browser.person();
    const page = await bob.open(await review.link());
    await page.getByRole('button', { name: /^Approve(, |$)/ }).click();
    await review.unlock(page);
    await page.getByRole('region', { name: 'What comes next' }).waitFor();
    const engine = new Terminal([program, 'run'], { cwd: here.workspace, env: here.env });
    await page.getByRole('button', { name: /^Step 1, in progress/ }).waitFor();
    await page.keyboard.press('4');
    await running(page).getByText(/table 2/).waitFor();
    engine.kill();
    await running(page).getByText('The run was interrupted').waitFor();
    await running(page).getByText('1 step interrupted').waitFor();
    await picture(page, 'run-broken');
    await accessible(packages, page, 'a run that was broken off');
    await page.getByRole('button', { name: 'Resume here' }).click();
    await asks(page, 1).getByText('It was started and then interrupted').waitFor();
    await asks(page, 1).getByText(/table 2/).waitFor(); // its output shows the progress
    await running(page).getByText('The run is waiting for you').waitFor();
    assert.equal(await page.getByRole('region', { name: 'What comes next' }).count(), 0, 'what has begun is not offered to be begun');
    await picture(page, 'run-unknown');
    await accessible(packages, page, 'a step of which nobody knows');
    writeFileSync(join(here.workspace, 'copied'), '');
    await page.locator('main').focus();
    await tabTo(page, asks(page, 1).getByRole('button', { name: 'Try again', exact: true }));
    await page.keyboard.press('Enter');
    await running(page).getByText('The run is complete').waitFor();
    assert.ok(existsSync(join(here.workspace, 'switched')));
    assert.deepEqual(bob.complaints, [], 'the page complains of nothing');
  } finally {
    await agent.stop();
    review.kill();
  }
  console.log('an engine that dies is seen on the page, and a person says what became of its step');
}

// stuck: a step that others wait for is denied. One of them continues without it, another is skipped, and for the last the person requests
// a new version of the plan.
async function stuck() {
  const here = workspace(where, 'stuck', files);
  const review = await Review.start(packages, here), agent = await Agent.start(packages, here, 'gemini');
  try {
    await agent.call('planning_submit_plan', { summary: 'Clear the disk.', steps: [
      shell('Delete the backups', 'touch deleted', { requires_approval: true }), shell('Measure the disk', 'touch measured', { dependencies: [1] }),
      shell('Print the sizes', 'touch printed', { dependencies: [1] }), shell('Report to the owner', 'touch reported', { dependencies: [3] })] });
    const carol = await browser.person();
    const page = await carol.open(await review.link());
    await page.getByRole('button', { name: /^Approve(, |$)/ }).click();
    await review.unlock(page);
    await page.getByRole('region', { name: 'What comes next' }).getByRole('button', { name: 'Start a run here' }).click();
    await page.keyboard.press('4');
    await asks(page, 1).getByRole('button', { name: 'Deny' }).click();
    await running(page).getByText('is stuck: no step can start').waitFor();
    await asks(page, 2).getByText('It waits for 1').waitFor();
    await picture(page, 'run-stuck');
    await accessible(packages, page, 'a run in which nothing can be started');
    await asks(page, 2).getByRole('button', { name: 'Edit the step' }).click();
    await page.getByLabel('After steps').fill('');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByRole('button', { name: /^Step 2, ready/ }).waitFor();
    await page.keyboard.press('4');
    await running(page).getByRole('button', { name: 'Resume here' }).click();
    await ended(page, 2, 'done').waitFor();
    await asks(page, 3).getByRole('button', { name: 'Skip…' }).click();
    await asks(page, 3).getByRole('textbox', { name: 'Reason for skipping' }).fill('Nobody reads them.');
    await asks(page, 3).getByRole('button', { name: 'Skip the step' }).click();
    await asks(page, 4).getByText('It waits for 3').waitFor();
    await running(page).getByRole('button', { name: 'Ask for replanning…' }).click();
    await page.getByRole('textbox', { name: 'Changes you want in the plan' }).fill('Report what was measured.');
    await page.keyboard.press('Control+Enter');
    await page.getByRole('textbox', { name: 'Changes you want in the plan' }).waitFor({ state: 'detached' });
    const told = JSON.stringify(await agent.call('planloop_status', {}));
    assert.ok(told.includes('Report what was measured.'), told);
    await agent.call('planloop_update', { replan: { changes: 'The report needs the measure alone', reasoning: 'It was asked for.' }, update_tasks: [{ id: 4, depends_on: [2] }] });
    const decision = page.getByRole('region', { name: 'Decision' });
    await decision.getByRole('button', { name: /^Approve(, |$)/ }).click();
    await decision.waitFor({ state: 'detached' });
    await running(page).getByRole('button', { name: 'Resume here' }).click();
    await running(page).getByText('The run is complete').waitFor();
    assert.equal(await page.getByRole('button', { name: 'Start a run here' }).count(), 0, 'what is complete is not offered to be run');
    assert.deepEqual(['deleted', 'measured', 'printed', 'reported'].filter((file) => existsSync(join(here.workspace, file))), ['measured', 'reported']);
    assert.deepEqual(carol.complaints, [], 'the page complains of nothing');
  } finally {
    await agent.stop();
    review.kill();
  }
  console.log('where nothing more can be started, a dependency is dropped, a step skipped and a new version asked for');
}

// tabTo goes to an element with only the Tab key.
async function tabTo(page, wanted) {
  for (let n = 0; n < 80; n++) {
    if (await wanted.evaluate((element) => element === document.activeElement)) return;
    await page.keyboard.press('Tab');
  }
  throw new Error(`the Tab key does not lead to ${wanted}`);
}

async function picture(page, name) {
  if (pictures) await page.screenshot({ path: join(pictures, `${name}.png`) });
}
