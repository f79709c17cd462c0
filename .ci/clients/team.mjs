// A team shares a plan: Ann and Bob have a laptop each, with Claude Code and a scripted model. A real server keeps the plan in PostgreSQL,
// and Bob and Eve approve it with passkeys in a browser. PLANLOOP_CI_VERBOSE shows what is called.
//
//   node team.mjs PROGRAM CLIENTS HOSTS FOLDER SERVER PAGE CHROMIUM
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

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
    console.error(`FAILED: ${what}`);
    throw new Error(fault.message.slice(0, 3000), { cause: fault.stack?.split('\n').find((line) => line.includes('team.mjs'))?.trim() });
  }
  console.log(`${what} (${seconds(from)})`);
}

// eventually waits for a condition that nothing announces.
async function eventually(condition, story) {
  for (let left = 100; !(await condition()); left--) {
    assert.ok(left > 0, story);
    await pause(100);
  }
}

// holds waits until a laptop's hooks refuse changes.
async function holds(laptop) {
  const from = Date.now();
  await eventually(() => laptop.isHeld(), `the hooks on ${laptop.member}'s laptop do not hear of the planning mode`);
  console.log(`  the hooks on ${laptop.member}'s laptop hold after ${seconds(from)}`);
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
  // calls is the puppet's, repeated while the host has not heard that planning mode no longer hides the tool.
  const call = agent.calls.bind(agent);
  agent.calls = async (tool, args) => {
    let told;
    await eventually(async () => !/No such tool available/.test((told = await call(tool, args))), `${tool} stays hidden`);
    return told;
  };
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
const ci = await Laptop.of('ci', { program, folder, server });
let annAgent, bobAgent, bobPage, evePage;
try {
  await scene('Ann shares the plan of her agent, and Bob pulls it', async () => {
    await server.operate('team', 'create', 'blue');
    const rules = join(folder, 'rules.json');
    writeFileSync(rules, JSON.stringify({ approvals: 2, evidence_from: 'ci' }));
    for (const name of ['ann', 'bob']) await server.operate('member', 'add', 'blue', name);
    await server.operate('member', 'add', 'blue', 'eve', '--role', 'admin');
    await server.operate('policy', 'set', 'blue', rules);
    for (const laptop of [ann, bob]) {
      const told = await laptop.join(await server.operate('token', 'create', 'blue', laptop.member, '--machine', 'laptop'));
      assert.match(told, new RegExp(`Joined blue as ${laptop.member}`));
    }
    annAgent = claudeCode(ann);
    await annAgent.calls('planning_setup_plan', { objective: 'Open the shop', initial_steps: [{ title: 'Unlock the door' }] });
    assert.match(await ann.person(['team', 'share', 'main', '--in', 'blue/shop']), /Shared main as blue\/shop main/);
    assert.match(await bob.person(['team', 'pull', 'main', '--in', 'blue/shop']), /main is now a copy of blue\/shop main/);
    bobAgent = claudeCode(bob);
    assert.match(await bobAgent.calls('planloop_status', { track: 'main' }), /Open the shop/);
    assert.match(await annAgent.calls('planloop_status'), /Open the shop/, "Ann's agent has lost its plan by sharing it");
  });

  await scene("Planning mode of Ann's agent holds Bob's, and lets it go on afterwards", async () => {
    assert.equal((await bobAgent.writes('before.txt')).wrote, 'alpha\n');
    assert.match(await annAgent.calls('planning_enter_plan_mode', { reason: 'To plan the greeting' }), /Entered planning mode/);
    await holds(bob);
    const { told, wrote } = await bobAgent.writes('held.txt');
    assert.equal(wrote, false, `Bob's agent has written during Ann's planning mode, and was told: ${told}`);
    assert.match(told, refusal);
    assert.match(await annAgent.calls('planning_submit_plan', greeting), /It waits for 2 approvals/);
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
    assert.equal(await bobPage.getByRole('link', { name: 'Team' }).count(), 0, 'Bob is offered what only an admin may do');
    await evePage.getByRole('link', { name: 'Team' }).click();
    await evePage.getByRole('heading', { name: 'Members' }).waitFor();
    await evePage.goBack();
    for (const laptop of [ann, bob]) assert.equal((await laptop.read('status')).phase, 'executing', `${laptop.member}'s laptop`);
  });

  await scene("Both agents work, and each sees the other's steps", async () => {
    for (const agent of [annAgent, bobAgent]) await agent.calls('planning_read_plan');
    await annAgent.calls('planning_mark_step', { step_id: 'S001', status: 'in_progress' });
    const busy = await bobAgent.calls('planning_mark_step', { step_id: 'S001', status: 'in_progress' });
    assert.match(busy, /claimed by "ann\/claude-code/, "Bob's agent is not told whose the step is");
    await bobAgent.calls('planning_mark_step', { step_id: 'S002', status: 'in_progress' });
    assert.match(await annAgent.calls('planning_read_plan'), /bob\/claude-code/, "Ann's agent does not see whose the second step is");
    for (const [agent, file] of [[annAgent, 'word-1.txt'], [bobAgent, 'word-2.txt']]) assert.equal((await agent.writes(file)).wrote, 'alpha\n');
    await annAgent.calls('planloop_update', { update_tasks: [{ id: 1, note: 'The greeting says alpha' }] });
    assert.match(await bobAgent.calls('planning_read_plan'), /The greeting says alpha/, "Bob's agent does not see Ann's note");
  });

  await scene('A step is verified by CI, and not on a laptop', async () => {
    const passed = `passed on ann's laptop at ${ann.commit} with uncommitted changes`;
    const early = await annAgent.calls('planning_mark_step', { step_id: 'S001', status: 'done' });
    assert.ok(early.includes(passed), `Ann's agent is told ${early}`);
    assert.match(early, /only a run in CI counts/);
    assert.ok((await bob.done('show', 'S001')).includes(passed), "Bob does not see that the step's command passed on Ann's laptop");

    const token = join(folder, 'token');
    writeFileSync(token, await server.operate('token', 'create', 'blue', 'ann', '--role', 'ci', '--machine', 'ci'));
    await ci.done('team', 'join', ci.link.address, '--token-file', token);
    await ci.done('team', 'pull', 'main', '--in', 'blue/shop');
    writeFileSync(join(ci.workspace, 'word-1.txt'), 'alpha\n');
    writeFileSync(join(ci.workspace, 'word-2.txt'), 'alpha\n');
    for (const step of ['S001', 'S002']) await ci.done('check', '--task', step);
    assert.match(await bob.done('show', 'S001'), new RegExp(`passed on ann's ci at ${ci.commit}`));

    await annAgent.calls('planning_mark_step', { step_id: 'S001', status: 'done', note: 'CI has passed' });
    await bobAgent.calls('planloop_update', { update_tasks: [{ id: 2, status: 'DONE', output: 'It is shown' }] });
    for (const laptop of [ann, bob]) {
      const { plan } = await laptop.read('show');
      assert.deepEqual(plan.steps.map(({ status }) => status), ['done', 'done'], `the steps on ${laptop.member}'s laptop`);
    }
  });

  await scene("Bob's laptop goes offline in planning mode: its hooks hold, and nothing is changed", async () => {
    assert.match(await annAgent.calls('planning_enter_plan_mode', { reason: 'To plan the farewell' }), /Entered planning mode/);
    await holds(bob);
    bob.link.disconnect();
    for (const when of ['at once', 'after two minutes']) {
      if (when !== 'at once') bob.ages(120);
      const { told, wrote } = await bobAgent.writes('offline.txt');
      assert.equal(wrote, false, `offline, ${when}, Bob's agent has written, and was told: ${told}`);
      assert.match(told, refusal);
    }
    const offline = /offline since .*; nothing was changed/;
    assert.match(await bobAgent.calls('planning_submit_plan', greeting), offline);
    assert.match(await bob.fails('--agent', 'codex', 'step', 'add', 'Paint it'), offline);
    assert.match(await bob.done('show'), /The shop greets its customers/, 'reading works offline');
    await annAgent.calls('planning_enter_plan_mode', { leave: true });
    bob.link.reconnect();
    await eventually(async () => !(await bob.isHeld()), "Bob's hooks do not hear that planning mode has ended");
    assert.equal((await bobAgent.writes('after.txt')).wrote, 'alpha\n');
  });

  await scene('Ann leaves the team with her copy, and Bob without', async () => {
    assert.match(await ann.person(['team', 'leave', '--keep']), /1 copy kept/);
    assert.match(await annAgent.calls('planloop_update', { final_summary: 'The shop greets.' }), /"status":"success"/);
    assert.match(await ann.done('show'), /The shop greets its customers/);
    assert.doesNotMatch(await bob.done('log'), /The shop greets\./, 'the agent has changed the plan of a team that Ann has left');
    assert.match(await bob.person(['team', 'leave']), /1 copy deleted/);
    assert.doesNotMatch(await bobAgent.calls('planloop_status'), /The shop greets/);
    assert.doesNotMatch(await bob.done('show'), /The shop greets its customers/);
    assert.match(await ann.done('team', 'status'), /in no team/);
  });
} catch (fault) {
  console.error(`${fault.message}\n${fault.cause ?? fault.stack}`);
  process.exitCode = 1;
} finally {
  for (const host of running) host.kill();
  await browser.stop();
  await server.stop();
  model.close();
}
if (!process.exitCode) console.log(`a team plans, approves and works together (${seconds(began)})`);
process.exit();
