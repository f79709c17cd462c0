// Makes the documents' pictures of the review page. Run it in the clone, with Node 22 or newer:
//
//   export PLANLOOP_CI_CACHE=~/.cache/planloop-ci
//   go build -o /tmp/planloop ./cmd/planloop
//   page="$(bash .ci/clients/install page)/node_modules"
//   . .ci/clients/terminals "$(command -v node)" "$page" /tmp/terminals
//   node .ci/clients/page/pictures.mjs /tmp/planloop "$page" "$(command -v chromium)" /tmp/ann /tmp/pictures
//   npx --yes sharp-cli@6.1.0 --input '/tmp/pictures/*.png' --output docs/images --palette --effort 10 --compressionLevel 9
//
// The last line gives them a palette, which saves two thirds of their size. /tmp/ann appears in the pictures and must not
// exist before. Times are those of the run.
import { spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';

import { place } from '../process.mjs';
import { Agent, Browser, Review } from './browser.mjs';
import { renders, serveHost, uri } from './serveapp.mjs';
import { files, passkeys, revised, workspace } from './stage.mjs';

const [program, packages, chromium, folder, out] = process.argv.slice(2);
const sharp = { deviceScaleFactor: 2, timezoneId: 'UTC', locale: 'en-GB' };

const where = place(program, folder);
Object.assign(where.env, { USER: 'ann', LOGNAME: 'ann', TZ: 'UTC' });
mkdirSync(out, { recursive: true });
const browser = await Browser.start(packages, chromium);
const ended = [];
try {
  await story();
  await inHost();
} finally {
  for (const end of ended.reverse()) await end();
  await browser.stop();
}

async function story() {
  const shop = workspace(where, 'shop', files);
  const review = await Review.start(packages, shop);
  ended.push(() => review.stop());
  const wide = await look(review, { width: 1280, height: 760 }, 'light');
  spawnSync(program, ['init', 'claude', '--yes'], { cwd: shop.workspace, env: shop.env });
  const started = await Agent.start(packages, shop, 'claude-code');
  ended.push(() => started.stop());
  const claude = { call: (tool, input = {}) => { heard(shop, tool, input); return started.call(tool, input); } };
  await claude.call('planning_enter_plan_mode', { reason: 'Signing in touches every request.' });
  await claude.call('planning_submit_plan', passkeys);
  await decision(wide);
  await comment(wide, 2, 'Which lock does the migration take?');
  await comment(wide, 5, 'Keep the form until nearly everybody has a passkey.');
  await wide.keyboard.press('Escape'); // leaves the field
  await wide.keyboard.press('Escape'); // closes the step
  await wide.getByRole('textbox', { name: 'Comment on step 5' }).waitFor({ state: 'detached' });
  await wide.evaluate(() => new Promise((drawn) => {
    document.activeElement.blur();
    for (const e of document.querySelectorAll('*')) if (e.scrollTop) e.scrollTop = 0;
    requestAnimationFrame(() => requestAnimationFrame(drawn));
  }));
  await wide.mouse.move(0, 0);
  await picture(wide, 'review-plan');

  await wide.getByRole('button', { name: 'Ask for changes' }).click();
  await wide.getByLabel('Changes you want').fill('Measure first how many users have one.');
  await wide.getByRole('button', { name: 'Ask for these changes' }).click();
  await review.unlock(wide);
  await wide.getByText('Changes requested').waitFor();
  await claude.call('planloop_status');
  await claude.call('planning_submit_plan', revised());
  await decision(wide);
  await wide.emulateMedia({ colorScheme: 'dark' });
  await wide.getByRole('button', { name: 'Changes', exact: true }).click();
  await wide.getByText('Keep the password form behind a link').first().waitFor();
  await picture(wide, 'review-changes');
  await wide.emulateMedia({ colorScheme: 'light' });
  await wide.getByRole('button', { name: 'Graph', exact: true }).click();
  await wide.getByRole('button', { name: /Measure how many users/ }).waitFor();
  await picture(wide, 'review-graph');

  const phone = await look(review, { width: 390, height: 700 }, 'dark');
  await decision(phone);
  await picture(phone, 'review-phone');

  await others();
  await wide.getByRole('button', { name: 'Plan', exact: true }).click();
  await wide.getByText('Move the documentation to the new host').first().waitFor();
  await wide.keyboard.press('Escape');
  await wide.evaluate(() => document.activeElement.blur());
  await wide.setViewportSize({ width: 1100, height: 660 });
  await wide.mouse.move(0, 0);
  await picture(wide, 'review-inbox');
}

// heard has the hook hear of a call, as the host does.
function heard(there, tool, input) {
  const event = { session_id: 's1', hook_event_name: 'PreToolUse', tool_name: `mcp__planloop__${tool}`, tool_input: input };
  spawnSync(program, ['hook', 'claude', 'pre-tool-use'], { cwd: there.workspace, env: there.env, input: JSON.stringify(event) });
}

// inHost takes the page in a conversation.
async function inHost() {
  const { client } = await agent(workspace(where, 'web-shop', files), 'claude', renders);
  const shown = await client.readResource({ uri });
  const site = await serveHost(packages, shown.contents[0].text);
  ended.push(() => site.stop());
  const person = await browser.person({ viewport: { width: 800, height: 900 }, ...sharp });
  const page = await person.context.newPage();
  await page.exposeFunction('planloopCall', (name, args) => client.callTool({ name, arguments: args }));
  await page.goto(site.address);
  const result = await client.callTool({ name: 'planning_submit_plan', arguments: passkeys });
  await page.evaluate(([call, answer]) => window.host.render(call, answer), [passkeys, result]);
  await page.frameLocator('iframe').getByRole('button', { name: /Tell users in the README/ }).waitFor();
  await picture(page.locator('iframe'), 'review-app');
}

// others creates two more workspaces with items waiting for ann.
async function others() {
  const api = await agent(workspace(where, 'api', files), 'codex');
  await api.call('planning_ask_user', { question: 'Is the old endpoint in use anywhere?' });
  const site = await agent(workspace(where, 'website', files), 'gemini');
  await site.call('planning_submit_plan', { ...passkeys, summary: 'Move the documentation to the new host.', steps: passkeys.steps.slice(0, 3) });
}

// agent returns an agent with a name.
async function agent(there, name, capabilities = {}) {
  const started = await Agent.start(packages, { ...there, env: { ...there.env, PLANLOOP_AGENT: name } }, name, capabilities);
  ended.push(() => started.stop());
  return started;
}

// look opens the page in its own browser.
async function look(review, viewport, colorScheme) {
  const person = await browser.person({ viewport, colorScheme, ...sharp });
  return person.open(await review.link());
}

function decision(page) {
  return page.getByRole('region', { name: 'Decision' }).getByText('A plan is waiting for your decision').waitFor();
}

async function comment(page, step, text) {
  await page.getByRole('button', { name: `Comment on step ${step}` }).click();
  await page.getByRole('textbox', { name: `Comment on step ${step}` }).fill(text);
  await page.getByRole('button', { name: 'Add comment' }).click();
}

async function picture(of, name) {
  await of.screenshot({ path: join(out, `${name}.png`), animations: 'disabled', caret: 'hide' });
}
