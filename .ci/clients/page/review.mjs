// A plan's life on the review page, in a real browser with a real agent: it is submitted, commented on, edited, revised, approved and
// carried out while another browser watches. Then the same with only the keyboard.
//
//   node review.mjs PROGRAM PACKAGES CHROMIUM FOLDER [PICTURES]
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { place, run } from '../process.mjs';
import { accessible, Agent, Browser, Review } from './browser.mjs';
import { files, passkeys, revised, workspace } from './stage.mjs';

const [program, packages, chromium, folder, pictures] = process.argv.slice(2);

const where = place(program, folder);
const shop = workspace(where, 'shop', files);
const browser = await Browser.start(packages, chromium);
try {
  await life();
  await byKeyboard();
  await inbox();
  await outOfTouch();
} finally {
  await browser.stop();
}

async function life() {
  const review = await Review.start(packages, shop);
  const agent = await Agent.start(packages, shop, 'claude-code');
  try {
    const alice = await browser.person({ viewport: { width: 1400, height: 900 } });
    const page = await alice.open(await review.link());
    await page.getByText('no plan').first().waitFor();
    await submitted(agent, page);
    await commented(page, review);
    await reread(page);
    await returned(agent, page, review);
    await approved(agent, page);
    await carriedOut(agent, page, review);
    const others = alice.complaints.filter((text) => !text.includes('status of 422')); // the wrong code
    assert.deepEqual(others, [], 'the page complains of nothing');
    assert.ok(alice.asked.every((address) => address.startsWith(`${review.origin}/`)), `the page asks nobody else: ${alice.asked}`);
  } finally {
    await agent.stop();
    await review.stop();
  }
  console.log('a plan is submitted, commented on, edited, revised, approved and carried out on the page');
}

async function submitted(agent, page) {
  await agent.call('planning_enter_plan_mode', { reason: 'Sign-in touches every request.' });
  await agent.call('planning_submit_plan', passkeys);
  const decision = page.getByRole('region', { name: 'Decision' });
  await decision.getByText('A plan is waiting for your decision').waitFor();
  assert.equal(await page.getByRole('list', { name: 'Steps' }).getByRole('listitem').count(), passkeys.steps.length);
  await picture(page, 'submitted');
  await accessible(packages, page, 'a plan that waits');
}

// quotesAPassage comments on selected words of a step, with a key, and asks to remove them, with the mouse. It leaves nothing.
async function quotesAPassage(page) {
  const step = page.locator('.row[data-step="6"]'), field = page.getByRole('textbox', { name: 'Comment on step 6' });
  const select = async () => {
    await step.locator('[data-field="details"]').selectText();
    await page.getByRole('toolbar', { name: 'On the selected text' }).waitFor();
  };
  await step.getByRole('button', { name: /^Step 6, / }).click();
  await select();
  await picture(page, 'passage');
  await accessible(packages, page, 'a passage is selected');
  await page.keyboard.press('c');
  await page.waitForFunction(() => document.activeElement?.id === 'comment-6');
  await page.keyboard.type('why?');
  assert.match(await field.inputValue(), /^details, "[^"]+": why\?$/);
  await field.fill('');
  await select();
  await page.getByRole('button', { name: 'Remove x' }).click();
  await step.getByText(/^details: remove "/).waitFor();
  await step.getByRole('button', { name: 'Remove', exact: true }).click();
  await page.keyboard.press('Escape');
}

async function commented(page, review) {
  await comment(page, 2, 'Which lock does the migration take?');
  await comment(page, 5, 'Keep the form until nearly everybody has a passkey.');
  await page.getByText('2 comments to send with your decision').waitFor();
  await page.reload(); // no typed text is lost
  await page.getByText('2 comments to send with your decision').waitFor();
  await quotesAPassage(page);
  await page.getByRole('button', { name: 'Edit step 7' }).click();
  const form = page.locator('form').filter({ has: page.getByRole('button', { name: 'Save' }) });
  await form.getByLabel('Title').fill('Tell users in the README and on the blog');
  await picture(page, 'edited');
  await form.getByRole('button', { name: 'Save' }).click(); // the first act of a page
  const dialog = page.getByRole('dialog');
  await accessible(packages, page, 'the code is asked for');
  const code = await review.code();
  await dialog.getByLabel('Six-digit code').fill(code === '000000' ? '000001' : '000000');
  await dialog.getByRole('button', { name: 'Continue' }).click();
  await dialog.getByRole('alert').getByText(/\S/).waitFor();
  await review.terminal.until(/A wrong code was typed on the page/);
  await picture(page, 'code');
  await dialog.getByLabel('Six-digit code').fill(code);
  await dialog.getByRole('button', { name: 'Continue' }).click();
  await page.getByRole('button', { name: /Step 7, .*and on the blog/ }).waitFor();
  await picture(page, 'commented');
}

// reread shows the whole content of an approval at once; a reload returns to the same place.
async function reread(page) {
  await page.keyboard.press('Escape');
  await page.keyboard.press('Escape');
  await page.keyboard.press('o');
  const steps = page.getByRole('list', { name: 'Steps' });
  for (const { details, acceptance_criteria: criteria, verify } of passkeys.steps)
    for (const text of [details, ...criteria, verify].filter(Boolean)) await steps.getByText(text, { exact: true }).first().waitFor();
  await accessible(packages, page, 'all steps open');
  await page.keyboard.press('o');
  await page.getByRole('button', { name: 'Log', exact: true }).click();
  await page.reload();
  await page.getByRole('region', { name: 'Log' }).waitFor();
  await page.goBack();
  await steps.waitFor();
  assert.match(await page.title(), /^\(1\) /, 'the title says how much waits');
}

// followed types half a comment while the agent inserts a step before the commented one.
async function followed(agent, page) {
  await page.getByRole('button', { name: 'Comment on step 4' }).click();
  await page.getByRole('textbox', { name: 'Comment on step 4' }).fill('Half a thought');
  const { steps, ...rest } = revised();
  const more = [{ ...steps[0], title: 'Measure how long it takes today' }, ...steps.map((s) => ({ ...s, dependencies: s.dependencies?.map((n) => n + 1) }))];
  await agent.call('planning_submit_plan', { ...rest, steps: more });
  const moved = page.getByRole('textbox', { name: 'Comment on step 5' });
  await moved.waitFor();
  assert.equal(await moved.inputValue(), 'Half a thought');
  assert.ok(await moved.evaluate((field) => field === document.activeElement), 'one writes on in it');
  await moved.fill('');
  await agent.call('planning_submit_plan', revised());
  await page.getByRole('button', { name: /^Step 8, / }).waitFor();
  await accessible(packages, page, 'a plan that was changed while it was looked at');
  await page.getByRole('button', { name: 'I have seen it' }).click();
}

async function returned(agent, page, review) {
  const heard = waiting(agent), warned = page.getByRole('button', { name: /^no rollback described for / });
  await warned.waitFor();
  await page.getByRole('button', { name: 'Ask for changes' }).click();
  await page.getByLabel('Changes you want').fill('Smaller, please.');
  await page.getByRole('button', { name: 'Ask for these changes' }).click();
  await review.unlock(page); // again, because the page was reloaded
  const told = JSON.stringify(await heard);
  for (const words of ['Smaller, please.', 'Which lock does the migration take?', 'Keep the form until nearly everybody has a passkey.'])
    assert.ok(told.includes(words), `the agent hears ${words}: ${told}`);
  await page.getByText('Changes requested').waitFor();
  await warned.waitFor(); // the warnings still apply to the returned plan
  await agent.call('planning_submit_plan', revised());
  await page.getByRole('region', { name: 'Decision' }).getByText('A plan is waiting for your decision').waitFor();
  await page.getByRole('button', { name: 'Changes', exact: true }).click();
  await page.getByText('Keep the password form behind a link').first().waitFor();
  await page.getByText('Keep the form until nearly everybody has a passkey.').first().waitFor();
  await picture(page, 'difference');
  await accessible(packages, page, 'the difference');
  await page.getByRole('button', { name: 'Graph', exact: true }).click();
  await page.getByRole('button', { name: /Measure how many users/ }).waitFor();
  await picture(page, 'graph');
  await accessible(packages, page, 'the graph');
  await page.getByRole('button', { name: 'Plan', exact: true }).click();
  await page.getByText('Smaller, please.').waitFor();
  await followed(agent, page);
}

async function approved(agent, page) {
  const heard = waiting(agent);
  await page.getByRole('button', { name: /^Approve(, |$)/ }).click();
  const told = await heard;
  assert.equal(told.phase, 'executing', JSON.stringify(told));
  await page.getByRole('region', { name: 'What comes next' }).waitFor();
  const { output } = await run(program, ['log', '--audit', '--json'], { cwd: shop.workspace, env: shop.env });
  assert.match(output, /"way":\s*"person"/, 'the decision is recorded as a person\'s');
}

async function carriedOut(agent, page, review) {
  const bob = await browser.person({ viewport: { width: 390, height: 844 }, colorScheme: 'dark' });
  const other = await bob.open(await review.link());
  for (let n = 1; n <= revised().steps.length; n++) {
    await agent.call('planning_mark_step', { step_id: `S00${n}`, status: 'in_progress' });
    for (const at of [page, other]) await at.getByRole('button', { name: new RegExp(`^Step ${n}, in progress`) }).waitFor();
    if (n === 2) writeFileSync(join(shop.workspace, 'migrations/0008_passkeys.sql'), ''); // else the step is not verified
    if (n === 4) await Promise.all([picture(page, 'carried-out'), picture(other, 'phone')]);
    await agent.call('planning_mark_step', { step_id: `S00${n}`, status: 'done', note: 'As planned.' });
    for (const at of [page, other]) await at.getByRole('button', { name: new RegExp(`^Step ${n}, done`) }).waitFor();
  }
  await accessible(packages, other, 'a phone in the dark');
  assert.deepEqual(bob.complaints, []);
  await page.getByRole('button', { name: 'Log', exact: true }).click();
  await page.getByText(/approved the plan|plan was approved|approved/).first().waitFor();
  await picture(page, 'log');
  await accessible(packages, page, 'the log');
}

async function byKeyboard() {
  const here = workspace(where, 'keys', files);
  const review = await Review.start(packages, here);
  const agent = await Agent.start(packages, here, 'codex');
  try {
    await agent.call('planning_submit_plan', passkeys);
    const person = await browser.person();
    const page = await person.open(await review.link());
    const keys = page.keyboard;
    await page.getByRole('region', { name: 'Decision' }).waitFor();
    await keys.press('?');
    await page.getByRole('dialog').waitFor();
    await accessible(packages, page, 'the help');
    await picture(page, 'keys');
    await keys.press('Escape');
    for (let n = 0; n < 3; n++) await keys.press('j');
    await keys.press('c');
    await page.locator('textarea:focus').waitFor();
    await keys.type('Who may register a second key?');
    await keys.press('Control+Enter');
    await page.getByText('1 comment to send with your decision').waitFor();
    await keys.press('Escape');
    await blockByBlock(page);
    await keys.press('f');
    await page.locator('textarea:focus').waitFor();
    await keys.type('See the comment.');
    await keys.press('Control+Enter');
    await page.getByRole('dialog').waitFor();
    await keys.type(await review.code());
    await keys.press('Enter');
    await page.getByText('Changes requested').waitFor();
    const told = JSON.stringify(await agent.call('planloop_status', {}));
    const spoken = told.replaceAll('\\"', '"');
    for (const text of ['Who may register a second key?', 'by "Used twice, it is refused"', 'remove "The key of another origin is refused"']) assert.ok(spoken.includes(text), `${text}: ${told}`);
    await agent.call('planning_submit_plan', revised());
    await page.getByText('A plan is waiting for your decision').waitFor();
    await keys.press('a');
    await keys.press('Enter');
    await page.getByRole('region', { name: 'What comes next' }).waitFor();
  } finally {
    await agent.stop();
    await review.stop();
  }
  console.log('all of it goes with the keyboard alone');
}

// blockByBlock suggests other words for a criterion of the chosen step, and asks to remove another.
async function blockByBlock(page) {
  const keys = page.keyboard, toolbar = page.getByRole('toolbar', { name: 'On the selected text' });
  const chosen = () => page.evaluate(() => document.getSelection().toString().trim());
  await keys.press('ArrowRight');
  await toolbar.waitFor();
  assert.equal(await chosen(), 'The challenge lives five minutes and is used once.');
  await picture(page, 'block');
  for (const text of ['A challenge that was used is refused', 'The key of another origin is refused']) {
    await keys.press('ArrowDown');
    assert.equal(await chosen(), text);
  }
  await keys.press('ArrowUp');
  await keys.press('s');
  await page.locator('textarea:focus').waitFor();
  await keys.type('Used twice, it is refused');
  await keys.press('Control+Enter');
  await page.getByText('2 comments to send with your decision').waitFor();
  await keys.press('Escape');
  for (const key of ['ArrowRight', 'ArrowDown', 'ArrowDown', 'Enter']) await keys.press(key);
  await toolbar.getByRole('button', { name: 'Comment c' }).and(page.locator(':focus')).waitFor();
  for (const key of ['ArrowRight', 'ArrowRight', 'Enter']) await keys.press(key);
  await page.getByText('3 comments to send with your decision').waitFor();
  await page.locator('#step-3:focus').waitFor();
  await keys.press('ArrowRight');
  await keys.press('Escape'); // back to the step
  await toolbar.waitFor({ state: 'detached' });
  await page.locator('.row.chosen #step-3:focus').waitFor();
}

async function inbox() {
  const agents = [];
  const review = await Review.start(packages, where);
  try {
    for (const name of ['api', 'docs', 'mail']) {
      const agent = await Agent.start(packages, workspace(where, name, files), `agent-${name}`);
      agents.push(agent);
      await agent.call('planning_submit_plan', { ...passkeys, summary: `A plan for ${name}.` });
      await agent.call('planning_ask_user', { question: `Is ${name} in use today?` });
    }
    const person = await browser.person({ viewport: { width: 1400, height: 900 } });
    const page = await person.open(await review.link());
    const waits = page.getByRole('navigation', { name: 'Inbox' }).getByRole('list', { name: /Waiting for you/ });
    await waits.getByText('A plan for mail').waitFor();
    const asked = waits.getByRole('listitem').filter({ hasText: /A plan for|in use today/ }); // beside questions left open before
    assert.equal(await asked.count(), 6, 'nothing that waits is hidden');
    await picture(page, 'inbox');
    await accessible(packages, page, 'the inbox');
    await waits.getByRole('button', { name: /Is docs in use today/ }).click();
    await page.getByLabel(/Answer/).first().fill('On weekdays.');
    await page.getByRole('button', { name: 'Answer now' }).first().click();
    await review.unlock(page);
    await page.getByText('On weekdays.').first().waitFor({ state: 'attached' });
    const told = JSON.stringify(await agents[1].call('planloop_status', {}));
    assert.ok(told.includes('On weekdays.'), told);
  } finally {
    await Promise.all(agents.map((agent) => agent.stop()));
    await review.stop();
  }
  console.log('what waits in three workspaces stands in one inbox');
}

// outOfTouch lets a page's stream die unnoticed by the browser, as after a night's sleep, and then the person comes back.
async function outOfTouch() {
  const here = workspace(place(program, join(folder, 'asleep')), 'asleep', files);
  const review = await Review.start(packages, here);
  const agent = await Agent.start(packages, here);
  try {
    await agent.call('planning_setup_plan', { objective: 'Be looked at later', initial_steps: [{ title: 'Sleep' }, { title: 'Wake' }] });
    const person = await browser.person();
    const page = await person.context.newPage();
    await page.addInitScript(() => {
      const { fetch } = window;
      let dead = 0;
      window.fetch = (path, init) => path !== '/api/events' || dead++ ? fetch(path, init)
        : Promise.resolve(new Response(new ReadableStream({ start: (c) => init.signal.addEventListener('abort', () => c.error(init.signal.reason)) })));
    });
    await page.goto(await review.link());
    await page.getByRole('button', { name: /^Step 1, / }).waitFor();
    await page.waitForLoadState('networkidle'); // the initial reads, and those for a new stream, are done
    await agent.call('planning_mark_step', { step_id: 'S001', status: 'in_progress' });
    assert.equal(await page.getByRole('button', { name: /^Step 1, in progress/ }).count(), 0, 'the page has not heard of it');
    await page.evaluate(() => {
      const { now } = Date;
      Date.now = () => now() + 30_000;
      document.dispatchEvent(new Event('visibilitychange'));
    });
    await page.getByRole('button', { name: /^Step 1, in progress/ }).waitFor();
    await agent.call('planning_mark_step', { step_id: 'S001', status: 'done', note: 'Slept.' });
    await page.getByRole('button', { name: /^Step 1, done/ }).waitFor();
    assert.equal(person.asked.filter((address) => address.endsWith('/api/events')).length, 1, 'it asks for one stream anew');
    assert.deepEqual(person.complaints, []);
  } finally {
    await agent.stop();
    await review.stop();
  }
  console.log('who comes back to a page whose stream has died sees how it stands');
}

// waiting returns the answer to an agent that waits for the person, after it has received all earlier news.
async function waiting(agent) {
  await agent.call('planloop_status');
  return agent.call('planloop_status', { wait: 60 });
}

async function comment(page, step, text) {
  await page.getByRole('button', { name: `Comment on step ${step}` }).click();
  await page.getByRole('textbox', { name: `Comment on step ${step}` }).fill(text);
  await page.getByRole('button', { name: 'Add comment' }).click();
}

async function picture(page, name) {
  if (pictures) await page.screenshot({ path: join(pictures, `${name}.png`) });
}
