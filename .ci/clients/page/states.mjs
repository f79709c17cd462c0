// Draws ten states of the review page, to be looked at: empty, plan, changes, forty (steps), running, failed, finished, inbox, phone, dark.
//
//   node states.mjs PROGRAM PACKAGES CHROMIUM FOLDER [PICTURES]
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { place } from '../process.mjs';
import { Agent, Browser, Review } from './browser.mjs';
import { files, passkeys, revised, workspace } from './stage.mjs';

const [program, packages, chromium, folder, pictures = folder] = process.argv.slice(2);
const where = home('ann'), apart = home('bob'); // whose page shows no waiting plan of another workspace
mkdirSync(pictures, { recursive: true });
const browser = await Browser.start(packages, chromium), ended = [];
try {
  await plans();
  await run();
  await inbox();
} finally {
  for (const end of ended.reverse()) await end();
  await browser.stop();
}

function home(user) {
  const made = place(program, join(folder, user));
  Object.assign(made.env, { USER: user, LOGNAME: user, TZ: 'UTC' });
  return made;
}

async function plans() {
  const shop = workspace(where, 'shop', files), review = await opened(shop), wide = await look(review);
  await wide.getByText('no plan').first().waitFor();
  await picture(wide, 'empty');
  const claude = await agent(shop, 'claude-code');
  await claude.call('planning_submit_plan', told());
  await wide.getByText('A plan is waiting for your decision').waitFor();
  await comment(wide, 5, 'Keep the form until nearly everybody has a passkey.');
  await wide.keyboard.press('Escape');
  await wide.keyboard.press('Escape');
  await wide.evaluate(() => { document.activeElement.blur(); for (const e of document.querySelectorAll('*')) if (e.scrollTop) e.scrollTop = 0; });
  await picture(wide, 'plan');
  await wide.getByRole('button', { name: /^Step 2, / }).click();
  await picture(wide, 'plan-open');
  const phone = await look(review, { width: 390, height: 844 });
  await phone.getByText('A plan is waiting for your decision').waitFor();
  await picture(phone, 'phone');
  const dark = await look(review, undefined, 'dark');
  await dark.getByText('A plan is waiting for your decision').waitFor();
  await picture(dark, 'dark');
  await wide.getByRole('button', { name: 'Ask for changes' }).click();
  await wide.getByLabel('Changes you want').fill('Measure first how many users have one.');
  await wide.getByRole('button', { name: 'Ask for these changes' }).click();
  await review.unlock(wide);
  await wide.getByText('Changes requested').waitFor();
  const next = revised();
  await claude.call('planning_submit_plan', { ...told(), steps: told().steps.map((s, i) => i === 1 ? { ...s, details: s.details.replace('last use', 'name of the device') } : next.steps[i]).concat(next.steps.slice(7)) });
  await wide.getByText('A plan is waiting for your decision').waitFor();
  await wide.getByRole('button', { name: 'Changes', exact: true }).click();
  await picture(wide, 'changes');
  const move = workspace(where, 'cluster', files), other = await agent(move, 'codex');
  await other.call('planning_submit_plan', forty());
  await wide.getByRole('button', { name: /Move the tables/ }).first().click();
  await wide.locator('.row').nth(20).waitFor();
  await wide.getByRole('button', { name: 'Plan', exact: true }).click();
  await picture(wide, 'forty');
  await wide.getByRole('button', { name: 'Graph', exact: true }).click();
  await wide.locator('.node').nth(20).waitFor();
  await picture(wide, 'forty-graph');
}

// told is the plan for passkeys with more Markdown.
function told() {
  const steps = structuredClone(passkeys.steps);
  steps[1].details = 'One row a key, in its **own** table:\n\n| column | content |\n| --- | --- |\n| `user_id` | the owner |\n| `public_key` | COSE, as the authenticator sends it |\n| `counter` | last use |\n\nThe migration goes back as well:\n\n```sql\nDROP TABLE passkeys;\n```';
  steps[1].acceptance_criteria.push('No `FULL SCAN` on *users*');
  return { ...passkeys, steps, reasoning: 'Passkeys cannot be phished. **Considered:**\n\n- one-time codes by mail: slow, and phished as well\n- an identity provider: a contract we do not have' };
}

// forty returns a plan of forty steps in four phases.
function forty() {
  const verbs = ['Copy', 'Compare the rows of', 'Switch reads of', 'Switch writes of'];
  return { summary: 'Move the tables of the shop to the new cluster.', steps: Array.from({ length: 40 }, (_, i) => ({
    title: `${verbs[i % 4]} ${['orders', 'users', 'baskets', 'prices', 'stock', 'returns', 'invoices', 'coupons', 'reviews', 'logs'][i >> 2]}`, type: 'chore',
    risk: i % 4 === 3 ? 'high' : i % 4 === 2 ? 'medium' : 'low', tools: ['shell'], details: i % 4 === 3 ? 'Rollback: switch writes back.' : 'As in `README.md`.', relevant_file_paths: ['README.md'], context_hints: ['Note it in `README.md`.'],
    acceptance_criteria: ['The counts agree'], dependencies: i % 4 ? [i] : i ? [1] : [] })) };
}

async function run() {
  const here = workspace(apart, 'ship', files), review = await opened(here), builder = await agent(here, 'claude-code'), page = await look(review);
  const step = (title, command, more) => ({ title, type: 'chore', context_hints: ['See `README.md`.'], relevant_file_paths: ['README.md'], tool: 'bash_execute', args: { command }, ...more });
  await builder.call('planning_submit_plan', { summary: 'Ship version 2.', steps: [
    step('Read the notes', 'echo read'), step('Check the licences', 'echo all fine'), step('Lint the sources', 'echo no findings'), step('Build the program', 'echo built', { dependencies: [1, 2, 3] }),
    step('Test the program', 'for n in 1 2 3; do echo ok test $n; done; until [ -e go ]; do sleep 0.1; done; echo 1 of 214 tests failed >&2; echo sign-in: expected 200, got 500 >&2; test -e mended', { dependencies: [4] }),
    step('Release it', 'echo released', { dependencies: [5], risk: 'medium' }), step('Tell the mirrors', 'echo told', { dependencies: [6] }),
  ] });
  await page.getByRole('button', { name: /^Approve(, |$)/ }).click();
  await review.unlock(page);
  await page.getByRole('region', { name: 'What comes next' }).getByRole('button', { name: 'Start a run here' }).click();
  await page.getByRole('button', { name: /^Step 5, in progress/ }).waitFor();
  await picture(page, 'running');
  await page.keyboard.press('4');
  await page.getByText('ok test 3').first().waitFor();
  await picture(page, 'running-run');
  writeFileSync(join(here.workspace, 'go'), '');
  await page.getByRole('button', { name: 'Try again', exact: true }).waitFor();
  await picture(page, 'failed');
  await page.keyboard.press('1');
  await picture(page, 'failed-plan');
  writeFileSync(join(here.workspace, 'mended'), '');
  await page.keyboard.press('4');
  await page.getByRole('button', { name: 'Try again', exact: true }).click();
  await page.getByRole('button', { name: 'Resume here' }).click();
  await page.locator('.ended').getByText('Tell the mirrors').waitFor();
  await page.waitForTimeout(1500);
  await picture(page, 'finished-run');
  await page.keyboard.press('1');
  await picture(page, 'finished');
}

async function inbox() {
  const review = await opened(workspace(where, 'mail', files)), page = await look(review);
  const api = await agent(workspace(where, 'api', files), 'codex');
  await api.call('planning_ask_user', { question: 'Is the old endpoint `/v1/orders` in use anywhere?' });
  await api.call('planloop_alert', { id: 'tests', level: 'blocker', message: 'go test ./api exited with 1' });
  await page.getByText('in use anywhere').first().waitFor();
  await page.getByRole('button', { name: /in use anywhere/ }).first().click();
  await picture(page, 'inbox');
}

async function opened(here) {
  const review = await Review.start(packages, here);
  ended.push(() => review.kill());
  return review;
}

async function agent(here, name) {
  const started = await Agent.start(packages, { ...here, env: { ...here.env, PLANLOOP_AGENT: name } }, name);
  ended.push(() => started.stop());
  return started;
}

async function look(review, viewport = { width: 1440, height: 900 }, colorScheme = 'light') {
  const person = await browser.person({ viewport, colorScheme, timezoneId: 'UTC', locale: 'en-GB' });
  return person.open(await review.link());
}

async function comment(page, step, text) {
  await page.getByRole('button', { name: `Comment on step ${step}` }).click();
  await page.getByRole('textbox', { name: `Comment on step ${step}` }).fill(text);
  await page.getByRole('button', { name: 'Add comment' }).click();
}

async function picture(page, name) {
  await page.mouse.move(0, 0);
  await page.waitForTimeout(300);
  await page.screenshot({ path: join(pictures, `${name}.png`), animations: 'disabled', caret: 'hide' });
}
