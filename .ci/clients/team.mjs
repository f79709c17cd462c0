// A team shares a plan: Ann and Bob have a laptop each, with Claude Code and a scripted model. A real server keeps the plan in PostgreSQL,
// and Bob and Eve approve it with passkeys in a browser. PLANLOOP_CI_VERBOSE shows what is called.
//
//   node team.mjs PROGRAM CLIENTS HOSTS FOLDER SERVER PAGE CHROMIUM
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import * as claude from './hosts/claude.mjs';
import { Puppets } from './hosts/puppet.mjs';
import { Model } from './model.mjs';
import { Browser } from './page/browser.mjs';
import { Running } from './process.mjs';
import { Laptop, register, TeamServer } from './teamstage.mjs';

const [program, , packages, folder, serverProgram, browserPackages, chromium] = process.argv.slice(2);
const began = Date.now();
const seconds = (from) => `${((Date.now() - from) / 1000).toFixed(1)}s`;
const log = process.env.PLANLOOP_CI_VERBOSE ? (text) => console.log(`${seconds(began)} ${text}`) : () => {};
const refusal = /[Pp]lanning mode|No such tool available|unavailable tool/;

const puppets = new Puppets(log);
const model = await Model.listen((asked) => puppets.answer(asked));
const running = []; // hosts
mkdirSync(folder, { recursive: true });

async function scene(what, play) {
  const from = Date.now();
  try {
    await play();
  } catch (fault) {
    console.error(`NOT SO: ${what}`);
    throw fault;
  }
  console.log(`${what} (${seconds(from)})`);
}

// claudeCode starts a session of Claude Code on a laptop.
function claudeCode(laptop) {
  const agent = puppets.agent(laptop.member, claude.says);
  const args = ['-p', '--input-format', 'stream-json', '--output-format', 'stream-json', '--verbose'];
  agent.process = new Running(claude.command(packages), args, { cwd: laptop.workspace, env: laptop.env, stdio: ['pipe', 'pipe', 'pipe'] });
  agent.story = () => `${agent.process.output.slice(-2000)}\n${agent.process.errors.slice(-2000)}`;
  running.push(agent.process);
  const content = `Do what is to be done. [[${laptop.member}]]`;
  agent.process.write(`${JSON.stringify({ type: 'user', message: { role: 'user', content } })}\n`);
  // writes has the agent write a file, and returns what it is told and the file's content.
  agent.writes = async (name) => {
    const told = await agent.does(claude.says.write(join(laptop.workspace, name), 'alpha\n'));
    return { told, wrote: laptop.wrote(name) };
  };
  return agent;
}

const greeting = {
  summary: 'The shop greets its customers',
  steps: ['Write the greeting', 'Show the greeting'].map((title, i) => ({
    title, type: 'feature', risk: 'low', details: 'The word is alpha.', context_hints: ['Read `kept.txt`.'], relevant_file_paths: ['kept.txt'],
    creates: [`word-${i + 1}.txt`], acceptance_criteria: ['The word is there'], verify: `grep -q alpha word-${i + 1}.txt`,
  })),
};

const server = await TeamServer.start(serverProgram, folder);
const browser = await Browser.start(browserPackages, chromium, ['--ignore-certificate-errors']);
const [ann, bob] = await Promise.all(['ann', 'bob'].map((member) => Laptop.of(member, { program, folder, server, model })));
let annAgent, bobAgent, bobPage, evePage;
try {
  await scene('Ann shares the plan of her agent, and Bob pulls it', async () => {
    await server.operate('team', 'create', 'blue');
    const rules = join(folder, 'rules.json');
    writeFileSync(rules, JSON.stringify({ approvals: 2 }));
    for (const name of ['ann', 'bob', 'eve']) await server.operate('member', 'add', 'blue', name);
    await server.operate('policy', 'set', 'blue', rules);
    for (const laptop of [ann, bob]) {
      const told = await laptop.join(await server.operate('token', 'create', 'blue', laptop.member, '--machine', `${laptop.member}s-laptop`));
      assert.match(told, new RegExp(`Joined blue as ${laptop.member}`));
    }
    await ann.done('--agent', 'codex', 'start', 'Open the shop');
    assert.match(await ann.person(['team', 'share', 'main', '--in', 'blue/shop']), /Shared main as blue\/shop main/);
    assert.match(await bob.person(['team', 'pull', 'main', '--in', 'blue/shop']), /Pulled blue\/shop main/);
    annAgent = claudeCode(ann);
    bobAgent = claudeCode(bob);
    for (const agent of [annAgent, bobAgent]) assert.match(await agent.calls('planloop_status', { track: 'main' }), /Open the shop/);
  });

  await scene("Planning mode of Ann's agent holds Bob's, and lets it go on afterwards", async () => {
    assert.equal((await bobAgent.writes('before.txt')).wrote, 'alpha\n');
    assert.match(await annAgent.calls('planning_enter_plan_mode', { reason: 'To plan the greeting' }), /Entered planning mode/);
    const { told, wrote } = await bobAgent.writes('held.txt');
    assert.equal(wrote, false, `Bob's agent has written during Ann's planning mode, and was told: ${told}`);
    assert.match(told, refusal);
    await annAgent.calls('planning_submit_plan', greeting);
    assert.equal((await ann.read('status')).phase, 'submitted');
    assert.equal((await bob.read('status')).phase, 'submitted');
  });

  await scene('Bob and Eve register passkeys, and both must approve', async () => {
    for (const name of ['bob', 'eve']) {
      const invitation = await server.operate('invite', 'blue', name, '--address', server.front.address);
      const { page } = await register(browser, invitation);
      if (name === 'bob') bobPage = page;
      else evePage = page;
      await page.getByRole('region', { name: 'Decision' }).waitFor();
    }
    await bobPage.getByRole('button', { name: /^Approve(, |$)/ }).click();
    await bobPage.getByText('1 more approval').first().waitFor();
    assert.equal((await bob.read('status')).phase, 'submitted', 'one approval of two is enough');
    await evePage.getByText('1 more approval').first().waitFor();
    await evePage.getByRole('button', { name: /^Approve(, |$)/ }).click();
    await evePage.getByRole('region', { name: 'What comes next' }).waitFor();
    for (const laptop of [ann, bob]) assert.equal((await laptop.read('status')).phase, 'executing', `${laptop.member}'s laptop`);
  });
} finally {
  for (const host of running) host.kill();
  await browser.stop();
  await server.stop();
  model.close();
}
console.log(`a team plans, approves and works together (${seconds(began)})`);
process.exit(0);
