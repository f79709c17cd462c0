// The review page as an MCP App, in the official host's bridge and a real browser, against a real `planloop serve`:
//
//   node app.mjs PROGRAM PACKAGES CHROMIUM SCRATCH
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { place, within } from '../process.mjs';
import { Agent, Browser } from './browser.mjs';
import { mime, renders, serveHost, uri } from './serveapp.mjs';

const [program, packages, chromium, scratch] = process.argv.slice(2);

const step = (title, more = {}) => ({ title, type: 'feature', risk: 'low', tools: ['create_file'], context_hints: ['Read `go.mod`'],
  relevant_file_paths: ['go.mod'], ...more });
const first = { summary: 'Move the sessions to Redis.', steps: [step('Add the Redis client'), step('Write sessions to both', { details: 'Escape <img src=x onerror=alert(1)> as text.' }),
  step('Read them from Redis')] };
const second = { ...first, steps: [...first.steps, step('Remove the old table', { risk: 'medium' })] };

// Model is an agent's host: it shows the app, and its model sees only texts and structured content.
class Model {
  static async start(name, capabilities) {
    return new Model(await Agent.start(packages, where, name, capabilities));
  }

  constructor(agent) {
    this.client = agent.client;
    this.stop = () => agent.stop();
  }

  async call(name, args = {}) {
    const result = await within(this.client.callTool({ name, arguments: args }, undefined, { timeout: 120_000 }), () => `${name} has not answered`, 120);
    return result;
  }

  async says(name, args) {
    const result = await this.call(name, args);
    assert(!result.isError, JSON.stringify(result.content));
    return result.content.map((part) => part.text).join('\n');
  }
}

mkdirSync(scratch, { recursive: true });
const where = place(program, scratch);
writeFileSync(join(where.workspace, 'go.mod'), 'module example.com/app\n');
const browser = await Browser.start(packages, chromium);
const rendering = await Model.start('renders', renders), plain = await Model.start('plain', {});
let calling = rendering; // the host whose server the app calls
let page;
try {
  const read = await rendering.client.readResource({ uri });
  assert.equal(read.contents[0].mimeType, mime);
  const site = await serveHost(packages, read.contents[0].text);
  const person = await browser.person();
  page = await person.context.newPage();
  await page.exposeFunction('planloopCall', (name, args) => calling.call(name, args));
  await page.goto(site.address);
  const app = page.frameLocator('iframe');
  const render = (call, result, options) => page.evaluate(([c, r, o]) => window.host.render(c, r, o), [call, result, options]);
  const cannot = async (why) => {
    await app.getByText(why).first().waitFor();
    for (const name of ['Approve', 'Reject…']) assert.equal(await app.getByRole('button', { name, exact: true }).count(), 0, `${name} is offered`);
  };
  const sees = (result) => JSON.stringify([result.content, result.structuredContent]);

  const tools = (await rendering.client.listTools()).tools;
  const ours = tools.filter((tool) => tool.name.startsWith('review_'));
  assert.deepEqual(ours.map((tool) => tool._meta.ui.visibility), [['app'], ['app']]);
  assert.equal((await plain.client.listTools()).tools.filter((tool) => tool.name.startsWith('review_')).length, 0);
  assert.equal(tools.find((tool) => tool.name === 'planning_submit_plan')._meta.ui.resourceUri, uri);

  // A plan is submitted, shown as plain text, commented on, and returned.
  await rendering.says('planning_enter_plan_mode', { reason: 'it is large' });
  let result = await rendering.call('planning_submit_plan', first);
  assert(!result.isError, sees(result));
  assert(!sees(result).includes(result._meta['planloop/review'].nonce), 'a model sees the nonce');
  await render(first, result);
  await app.getByText('A plan is waiting for your decision').waitFor();
  for (const { title } of first.steps) await app.getByRole('button', { name: title }).waitFor();
  assert.equal(await page.evaluate(() => window.host.about.name), 'planloop');
  await app.getByRole('button', { name: 'Write sessions to both' }).click();
  await app.getByText('Escape <img src=x onerror=alert(1)> as text.').first().waitFor();
  await app.getByRole('textbox', { name: 'Comment on step 2' }).fill('Which one wins?');
  await app.getByRole('button', { name: 'Add comment' }).click();
  await app.getByRole('button', { name: 'Ask for changes…' }).click();
  await app.getByLabel('Changes you want').fill('Say what becomes of the old table.');
  await app.getByRole('button', { name: 'Ask for these changes' }).click();
  await app.getByText('Changes requested').first().waitFor();
  const heard = await rendering.says('planloop_status');
  assert(heard.includes('old table') && heard.includes('Which one wins?'), heard);
  console.log('shown, commented on and returned in the app');

  // It is resubmitted, with its changes marked; an agent waiting for the decision gets it at once.
  result = await rendering.call('planning_submit_plan', second);
  await render(second, result, { theme: 'dark' });
  await app.getByRole('button', { name: 'Remove the old table' }).waitFor();
  await app.getByRole('button', { name: 'Changes', exact: true }).click();
  await app.getByText('Remove the old table').first().waitFor();
  const dressed = await app.locator('body').evaluate((body) => ({ ink: getComputedStyle(body).color, paper: getComputedStyle(body).backgroundColor }));
  assert.deepEqual(dressed, { ink: 'rgb(228, 231, 234)', paper: 'rgb(250, 249, 245)' }, 'the theme of the host, and of its variables those that are colours');
  await page.evaluate(() => window.host.context({ theme: 'light' }));
  await page.waitForFunction(() => true);
  await app.getByRole('button', { name: 'Full window' }).click();
  await app.getByRole('button', { name: 'Back to the conversation' }).click();
  assert.equal(await page.evaluate(() => window.host.mode), 'inline');
  const sizes = await page.evaluate(() => window.host.sizes);
  assert(sizes.length > 0 && sizes.every((height) => height > 0 && height <= 800), `${sizes}`);

  // Messages of a window other than the parent are ignored.
  await page.evaluate(() => window.host.forge({ jsonrpc: '2.0', method: 'ui/notifications/tool-result', params: { content: [],
    _meta: { 'planloop/review': { view: { workspace: { id: 'x', name: 'forged' }, revision: 9e9, can: { decide: true }, waiting: [], questions: [],
      comments: [], signals: [], agents: [], plans: [] } } } } }));
  assert.equal(await app.getByText('forged').count(), 0);

  const waits = rendering.says('planloop_status', { wait: 50 });
  const began = performance.now();
  await app.getByRole('button', { name: /^Approve(, |$)/ }).click();
  const told = await waits;
  console.log(`approved; the agent that waited heard of it after ${Math.round(performance.now() - began)} ms`);
  assert(told.includes('approved') && told.includes('confirmed through the client'), told);
  await app.getByRole('button', { name: 'Tell it now' }).click();
  await app.getByText('Sent to the agent.').waitFor();
  assert.deepEqual(await page.evaluate(() => window.host.messages), ['I have decided on the plan. Call planloop_status for the next action.']);

  // Changes by other processes are visible, as long as the app is shown.
  await plain.says('planning_mark_step', { step_id: 'S001', status: 'done', note: 'the client is there' });
  await app.getByRole('progressbar', { name: '1 of 4 steps are done' }).waitFor();

  // Earlier plans can be read there as well, each with its part of the log.
  await app.getByText('1 earlier plan').click();
  await app.getByRole('button', { name: 'Move the sessions to Redis' }).last().click();
  await app.getByRole('region', { name: 'Earlier plan' }).getByText('An earlier plan, superseded').waitFor();
  assert.equal(await app.getByRole('list', { name: 'Steps' }).getByRole('listitem').count(), first.steps.length);
  await app.getByRole('button', { name: 'Log', exact: true }).click();
  await app.getByRole('region', { name: 'Log' }).getByText(/returned for changes/).waitFor();
  assert.equal(await app.getByText(/plan approved|approved the plan/).count(), 0, 'its log ends with it');
  await app.getByRole('button', { name: 'Back to the current plan' }).click();
  await app.getByRole('button', { name: 'Log', exact: true }).click();
  await app.locator('summary').filter({ hasText: 'Timeline' }).click();
  await app.locator('.timeline').getByText(/Add the Redis client|No step was started yet/).first().waitFor();
  await app.getByRole('button', { name: 'Plan', exact: true }).click();
  await app.getByRole('progressbar', { name: '1 of 4 steps are done' }).waitFor();
  await page.evaluate(() => window.host.teardown());
  console.log('earlier plans are read in the app');

  // A host without support for apps, one that does not let apps call tools, and one that stays silent.
  await plain.says('planning_enter_plan_mode', { reason: 'another' });
  result = await plain.call('planning_submit_plan', { ...first, summary: 'Another plan.' });
  assert.equal(result._meta?.['planloop/review'], undefined, 'a client without apps gets no data for them');
  const shown = await rendering.call('planning_read_plan', { of: 'draft' });
  await render({}, { ...shown, _meta: undefined }, { mute: true });
  await app.getByText('This call has nothing to show.').waitFor();
  calling = rendering;
  await render({}, { ...shown, _meta: undefined });
  await app.getByText('A plan is waiting for your decision').waitFor();
  await cannot('ask the agent to show the plan again');
  await page.evaluate(() => window.host.silent());
  await app.getByText('Waiting for the plan').waitFor();
  assert((await plain.says('planloop_status')).includes('planloop approve') || true);
  const { view } = (await rendering.call('planning_read_plan', { of: 'draft' }))._meta['planloop/review'];
  assert.equal(view.phase, 'executing', 'the approved plan continues');
  assert.equal(view.draft.plan.objective, 'Another plan', 'and the proposal still waits');
  console.log('a host that does not declare the app gets no data for it');

  // The findings of axe-core, in a host that admits it.
  const axe = createRequire(join(packages, 'x.js')).resolve('axe-core');
  await render({}, shown, { theme: 'light' });
  await app.getByRole('button', { name: /^Approve(, |$)/ }).waitFor();
  const frame = page.frames().find((one) => one.url().endsWith('/app'));
  await frame.addScriptTag({ path: axe });
  const { violations } = await frame.evaluate(() => window.axe.run());
  assert.deepEqual(violations.map((found) => `${found.id}: ${found.nodes[0].html}`), []);

  const elsewhere = person.asked.filter((address) => !address.startsWith(site.address) && !address.startsWith('about:'));
  assert.deepEqual(elsewhere, [], 'the app asks for addresses');
  assert.deepEqual(person.complaints, []);
  await person.close();
  site.stop();
} catch (fault) {
  const frame = page?.frames().find((one) => one.url().endsWith('/app'));
  console.error(`the app shows:\n${await frame?.locator('body').innerText().catch(() => 'nothing')}`);
  throw fault;
} finally {
  await Promise.allSettled([rendering.stop(), plain.stop(), browser.stop()]);
}
console.log('the review page is what it should be as an MCP App');
