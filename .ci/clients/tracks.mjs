// Sessions of several hosts in one directory, each with a scripted model and a plan of its own: two of Claude Code, one of Codex with a
// subagent, two of one opencode. None sees, holds or replaces another's plan, and each keeps its own when its host resumes, clears or
// compacts it. A session in planning mode tries to get out of it. PLANLOOP_CI_VERBOSE shows what is called, and what the hosts send.
//
//   node tracks.mjs PROGRAM CLIENTS HOSTS FOLDER
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { closeSync, existsSync, mkdirSync, openSync, readdirSync, readFileSync, writeSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { join } from 'node:path';

import { Bench } from './hosts/bench.mjs';
import * as claude from './hosts/claude.mjs';
import * as codex from './hosts/codex.mjs';
import { contents, write } from './hosts/files.mjs';
import * as opencode from './hosts/opencode.mjs';
import { Puppets } from './hosts/puppet.mjs';
import { record, recorded } from './hosts/record.mjs';
import { Model } from './model.mjs';
import { Running, within } from './process.mjs';

const [program, clients, packages, folder] = process.argv.slice(2);
const isVerbose = Boolean(process.env.PLANLOOP_CI_VERBOSE);
const began = Date.now();
const log = isVerbose ? (text) => console.log(`${((Date.now() - began) / 1000).toFixed(1)}s ${text}`) : () => {};
const refusal = /[Pp]lanning mode|No such tool available|unavailable tool/; // hosts know no more tools than the server lists
const settled = 60; // seconds

const bench = new Bench(program, folder);
const puppets = new Puppets(log);
const model = await Model.listen((asked) => puppets.answer(asked));
const running = new Set(); // hosts

const faults = []; // what did not hold; the story continues

// holds notes a fault where an assertion fails.
function holds(what, check) {
  try {
    check();
  } catch (fault) {
    faults.push(`${what}: ${fault.message.split('\n').slice(0, 30).map((line) => line.slice(0, 600)).join('\n    ')}`);
    console.log(`NOT SO: ${faults.at(-1)}`);
  }
}

// scene is a part of the story that can fail without ending it.
async function scene(what, play) {
  const from = Date.now();
  try {
    await play();
  } catch (fault) {
    holds(what, () => {
      throw fault;
    });
  }
  console.log(`${what} (${Math.round((Date.now() - from) / 1000)}s)`);
}

const matches = (what, text, wanted) => holds(what, () => assert.match(String(text), wanted));
const lacks = (what, text, unwanted) => holds(what, () => assert.doesNotMatch(String(text), unwanted));
const equals = (what, value, wanted) => holds(what, () => assert.deepEqual(value, wanted));

// goal is the goal of the plan in a status.
const goal = (status) => /"goal":"([^"]+)"|Goal: (.+)/.exec(status)?.slice(1).find(Boolean);

async function isOn(agent, objective, when) {
  const status = await agent.calls('planloop_status');
  holds(`${agent.name} is not on its own track ${when}`, () => assert.equal(goal(status), objective, status));
}

function start(agent, command, args, options = {}) {
  agent.process = new Running(command, args, { cwd: bench.workspace, env: bench.env, ...options });
  agent.story = () => `${agent.process.output.slice(-2000)}\n${agent.process.errors.slice(-2000)}`;
  running.add(agent.process);
  return agent;
}

const prompt = (name) => `Do what is to be done. [[${name}]]`;

// claudeCode starts a session that hears prompts until it is closed.
function claudeCode(name, ...options) {
  const agent = puppets.agent(name, claude.says);
  const args = ['-p', '--input-format', 'stream-json', '--output-format', 'stream-json', '--verbose', ...options];
  start(agent, claude.command(packages), args, { stdio: ['pipe', 'pipe', 'pipe'] });
  agent.types = (text) => agent.process.write(`${JSON.stringify({ type: 'user', message: { role: 'user', content: text } })}\n`);
  agent.types(prompt(name));
  // rests ends the turn and waits for the host.
  agent.rests = async () => {
    await agent.ends();
    await agent.process.until('"type":"result"');
  };
  agent.compacts = async () => {
    await agent.rests();
    agent.types('/compact');
    await agent.process.until('compact_boundary');
    await agent.process.until('"type":"result"');
    agent.types(prompt(name));
  };
  // clears begins another conversation, in which the model is told about its plan first.
  agent.clears = async (objective) => {
    await agent.rests();
    agent.types('/clear');
    await agent.process.until('conversation_reset');
    await agent.process.until('"type":"result"');
    agent.types(prompt(name));
    const { system, prompts } = await agent.begins();
    matches(`${name} is not told its plan after clearing`, system + prompts.join('\n'), new RegExp(objective));
  };
  agent.id = () => /.*"session_id":"([^"]+)"/s.exec(agent.process.output)[1];
  // leaves ends the session, and returns its id.
  agent.leaves = async () => {
    agent.process.write();
    await agent.process.status();
    return agent.id();
  };
  return agent;
}

function codexExec(name, ...options) {
  return start(puppets.agent(name, codex.says), codex.command(packages), ['exec', ...options, prompt(name)]);
}

// Opencode is one process with several sessions.
class Opencode {
  constructor() {
    this.process = start({}, opencode.command(packages, clients), ['serve', '--hostname', '127.0.0.1', '--port', '0']).process;
  }

  async session(name) {
    [, this.origin] = this.origin ? [, this.origin] : await this.process.until(/listening on (http:\S+)/);
    const { id } = await (await this.#post('session', { title: name })).json();
    const agent = puppets.agent(name, opencode.says);
    agent.story = () => `${this.process.output}\n${this.process.errors}`;
    log(`${name} is ${id}`);
    agent.types = (text) => this.#post(`session/${id}/prompt_async`, { parts: [{ type: 'text', text }] });
    await agent.types(prompt(name));
    agent.compacts = async () => {
      await agent.ends();
      await this.#post(`session/${id}/summarize`, { providerID: 'scripted', modelID: 'scripted' });
      await agent.types(prompt(name));
    };
    return agent;
  }

  async #post(path, body) {
    const headers = { 'content-type': 'application/json' };
    const reply = await fetch(`${this.origin}/${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
    assert.ok(reply.ok, `${path}: ${reply.status}`);
    return reply;
  }
}

// spawns has an agent start a subagent, and waits until that has played its part.
async function spawns(agent, play) {
  const below = puppets.agent(`${agent.name}_below`, agent.says);
  await agent.during(agent.says.spawn(prompt(below.name)), async () => {
    await play(below);
    await below.ends('I have looked around.');
  });
}

// eventually waits for a condition that nothing announces.
async function eventually(condition, story) {
  const end = new AbortController();
  const look = async () => {
    while (!condition() && !end.signal.aborted) await pause(50);
  };
  try {
    await within(look(), story, settled);
  } finally {
    end.abort();
  }
}

// plans returns the arguments that set up a plan.
const plans = (objective, ...titles) => ({ objective, initial_steps: titles.map((title) => ({ title })) });

// logs returns the folders of the logs by track, main first.
function logs() {
  const [main] = readdirSync(join(bench.state, 'planloop')).filter((name) => name.startsWith('workspace-'));
  const found = { main: join(bench.state, 'planloop', main) };
  const others = join(found.main, 'tracks');
  for (const track of existsSync(others) ? readdirSync(others).sort() : []) found[track] = join(others, track);
  return found;
}

// read returns what planloop knows of a track.
const read = async (track, ...command) => JSON.parse(await bench.done('--track', track, ...command, '--json'));

const steps = async (track) => (await read(track, 'show')).plan?.steps ?? [];
const statuses = async (track) => (await steps(track)).map(({ status }) => status);

// heads returns the head of each log, which changes with every record.
function heads() {
  return Object.fromEntries(Object.entries(logs()).map(([track, folder]) => [track, readFileSync(join(folder, 'growth', 'head'), 'utf8')]));
}

// files returns the files of the workspace.
const files = () => Object.fromEntries(Object.entries(contents(bench.workspace)).filter(([path]) => !path.includes('/.git')));

// writes has an agent write a file with its own tool and another in its shell, and returns both results.
async function writes(agent, word) {
  const told = await agent.does(agent.says.write(join(bench.workspace, `${word}.txt`), 'alpha\n'));
  return [told, await agent.does(agent.says.shell(`echo alpha > ${join(bench.workspace, `${word}-2.txt`)}`))];
}

async function goesOn(agent, when) {
  const word = `${agent.name}-${when.replaceAll(' ', '-')}`;
  const told = await writes(agent, word);
  const wrote = [bench.wrote(`${word}.txt`), bench.wrote(`${word}-2.txt`)];
  equals(`${agent.name} cannot write ${when}: ${told.join('\n')}`, wrote, ['alpha\n', 'alpha\n']);
}

async function isHeld(agent, when) {
  const word = `${agent.name}-held-${when.replaceAll(' ', '-')}`;
  for (const told of await writes(agent, word)) matches(`${agent.name} is not refused ${when}`, told, refusal);
  equals(`${agent.name} has written ${when}`, [bench.wrote(`${word}.txt`), bench.wrote(`${word}-2.txt`)], [false, false]);
}

for (const host of [claude, codex, opencode]) {
  Object.assign(bench.env, host.variables);
  host.configure(bench, model.origin);
}
bench.env.PATH = `${folder}:${bench.env.PATH}`;
await bench.done('init', 'claude', 'codex', 'opencode');
if (isVerbose) record(bench.program, join(folder, 'recorded'));

let a, b, c, d, e, shell;
try {
  const server = new Opencode(); // it is slow
  const trusted = codex.trust(bench, codex.command(packages), packages);

  await scene('two sessions of Claude Code have a plan each', async () => {
    a = claudeCode('a');
    b = claudeCode('b');
    await a.calls('planning_setup_plan', plans('Add login', 'Write the form', 'Check the password', 'Greet the user'));
    const before = await b.calls('planloop_status');
    matches('b is not told whose the plan is', before, /This is Claude Code's plan \(Add login\)\. To help, take a step/);
    matches('b is not told how to begin a track', before, /planning_setup_plan begins a track/);
    const begun = await b.calls('planning_setup_plan', plans('Fix the docs', 'Correct the README', 'Check the links'));
    matches('b is not told about its track', begun, /fix-the-docs.*Add login/s);
    await isOn(a, 'Add login', 'beside b');
    await isOn(b, 'Fix the docs', 'beside a');
    const listed = await a.calls('planning_read_plan');
    matches('a does not read its plan', listed, /Write the form/);
    lacks('a reads the plan of b', listed, /Correct the README/);
    await spawns(b, (below) => isOn(below, 'Fix the docs', 'as a subagent'));
    shell = await openShell(b);
  });

  await scene('a subagent of Codex is on the track of its session', async () => {
    await trusted;
    c = codexExec('c');
    await c.calls('planning_setup_plan', plans('Port the tests', 'Port one', 'Port two'));
    await isOn(c, 'Port the tests', 'at first');
    await spawns(c, async (below) => {
      await isOn(below, 'Port the tests', 'as a subagent');
      await below.calls('planning_mark_step', { step_id: 'S001', status: 'done' });
    });
    await isOn(c, 'Port the tests', 'beside its subagent');
    equals('the subagent has not marked the step of its session', await statuses('port-the-tests'), ['done', 'pending']);
    await c.ends();
    await c.process.status();
    c = codexExec('c', 'resume', /session id: (\S+)/.exec(c.process.errors)[1]);
    await isOn(c, 'Port the tests', 'after it resumes');
  });

  await scene('two sessions of one opencode have a plan each', async () => {
    d = await server.session('d');
    e = await server.session('e');
    await d.calls('planning_setup_plan', plans('Trim the logs', 'Find them', 'Trim them'));
    await e.calls('planning_setup_plan', plans('Rename the flags', 'Find those', 'Rename those'));
    for (const when of ['at first', 'again']) {
      await isOn(d, 'Trim the logs', when);
      await isOn(e, 'Rename the flags', when);
    }
    await spawns(d, (below) => isOn(below, 'Trim the logs', 'as a subagent'));
    await d.calls('planning_mark_step', { step_id: 'S001', status: 'in_progress' });
    await e.calls('planning_mark_step', { step_id: 'S002', status: 'in_progress' });
    equals('d has not marked its step', await statuses('trim-the-logs'), ['in_progress', 'pending']);
    equals('e has not marked its step', await statuses('rename-the-flags'), ['pending', 'in_progress']);
    await e.calls('planning_setup_plan', plans('Rename the options', 'Find those', 'Rename those'));
    await isOn(d, 'Trim the logs', 'after e has replaced its plan');
    for (let i = 0; i < 5; i++) {
      const [ofD, ofE] = await Promise.all([d.calls('planloop_status'), e.calls('planloop_status')]); // alike: perhaps unknown
      lacks('d sees the plan of e', ofD, /Goal: Rename/);
      lacks('e sees the plan of d', ofE, /Goal: Trim the logs/);
    }
  });

  await scene('a helper takes another step of the first plan', async () => {
    const h = claudeCode('h');
    await a.calls('planning_mark_step', { step_id: 'S001', status: 'in_progress' });
    const listed = await h.calls('planloop_status');
    for (const name of Object.keys(logs())) {
      matches(`h is not told how to join ${name}`, listed, new RegExp(`planloop_status \\{\\W*track\\W*:\\W*${name}\\W`));
    }
    equals('h is handed a plan', goal(listed), undefined);
    const before = heads();
    const refused = await h.calls('planning_mark_step', { step_id: 'S002', status: 'in_progress' });
    matches('h is not told the tracks when it changes a plan without having chosen', refused, /Add login.*Fix the docs/s);
    equals('a change without a track was made', heads(), before);
    const joined = await h.calls('planloop_status', { track: 'main' });
    equals('h has not joined', goal(joined), 'Add login');
    matches('h is not handed another step', joined, /Check the password/);
    lacks('h is handed the step of a', joined, /"current_task":\{[^}]*Write the form/);
    await h.calls('planning_mark_step', { step_id: 'S002', status: 'in_progress' });
    await isOn(h, 'Add login', 'after it has joined');
    await isOn(a, 'Add login', 'beside its helper');
    equals('a and its helper have not a step each', await statuses('main'), ['in_progress', 'in_progress', 'pending']);
    const [first, second] = (await steps('main')).map((step) => step.claimed_by);
    holds('one agent has both steps', () => assert.notEqual(first, second));
    await h.rests();
    await h.leaves();
  });

  await scene('planning mode holds its session and no other', async () => {
    const entered = await b.calls('planning_enter_plan_mode', { reason: 'To think it over' });
    matches('b does not enter planning mode', entered, /Entered planning mode/);
    await isHeld(b, 'in planning mode');
    await spawns(b, (below) => isHeld(below, 'as a subagent'));
    matches('b reads', await b.does(b.says.read(join(bench.workspace, 'kept.txt'))), /kept/);
    matches('b marks a step in planning mode', await b.calls('planning_mark_step', { step_id: 'S001', status: 'done' }), refusal);
    for (const agent of [a, c, d, e]) await goesOn(agent, 'while b plans');
    lacks('a is told that it plans', await a.calls('planning_mark_step', { step_id: 'S001', status: 'done' }), refusal);
    await Promise.all([
      isOn(a, 'Add login', 'while b plans'),
      isOn(b, 'Fix the docs', 'while it plans'),
      isOn(c, 'Port the tests', 'while b plans'),
      isOn(d, 'Trim the logs', 'while b plans'),
    ]);
    equals('a has not marked its step', await statuses('main'), ['done', 'in_progress', 'pending']);
    const n = claudeCode('n');
    await isHeld(n, 'on no track while b plans');
    await n.rests();
    await n.leaves();
  });

  await scene('a held session gets out neither by its tools nor below its host', () => escapes(b, shell));

  await scene('planning mode holds one session of an opencode and not the other', async () => {
    await d.calls('planning_enter_plan_mode', { reason: 'To think it over' });
    await isHeld(d, 'in planning mode');
    matches('d marks a step in planning mode', await d.calls('planning_mark_step', { step_id: 'S002', status: 'done' }), refusal);
    await goesOn(e, 'while d plans');
    lacks('e is told that it plans', await e.calls('planning_mark_step', { step_id: 'S002', status: 'done' }), refusal);
    equals('e has not marked its step while d plans', await statuses('rename-the-flags'), ['pending', 'done']);
    await isOn(e, 'Rename the options', 'while d plans');
    matches('d does not leave planning mode', await d.calls('planning_enter_plan_mode', { leave: true }), /mode is off/);
    await isOn(d, 'Trim the logs', 'after planning mode');
    await goesOn(d, 'after planning mode');
  });

  await scene('a session is on its track after compaction, clearing and resuming', async () => {
    await d.compacts();
    await isOn(d, 'Trim the logs', 'after compaction');

    await a.compacts();
    await isOn(a, 'Add login', 'after compaction');
    await a.rests();
    claudeCode('a', '--resume', await a.leaves());
    await isOn(a, 'Add login', 'after it resumes');
    await goesOn(a, 'after it resumes');
    await a.clears('Add login');
    await isOn(a, 'Add login', 'after clearing');
    await goesOn(a, 'after clearing');

    await b.compacts();
    await isOn(b, 'Fix the docs', 'after compaction');
    await isHeld(b, 'after compaction');
    await b.clears('Fix the docs');
    await isOn(b, 'Fix the docs', 'after clearing');
    await isHeld(b, 'after clearing');
    await b.rests();
    shell.ends();
    await b.rests(); // its host tells it
    const id = await b.leaves();
    claudeCode('b', '--continue');
    await isOn(b, 'Fix the docs', 'after it continues');
    equals('Claude Code does not continue b', b.id(), id);
    await isHeld(b, 'after it continues');
  });

  await scene('a person approves the plan of one session', async () => {
    const step = {
      title: 'Write down a word',
      type: 'feature',
      details: 'The word is alpha.',
      context_hints: ['Read `kept.txt`.'],
      relevant_file_paths: ['kept.txt'],
      creates: ['word.txt'],
    };
    await b.calls('planning_submit_plan', { summary: 'One word.', steps: [step] });
    await bench.approve('--track', 'fix-the-docs');
    await b.calls('planloop_status');
    await goesOn(b, 'after its plan was approved');
    await isOn(a, 'Add login', 'after the plan of b was approved');
  });

  await scene('no plan is lost', async () => {
    const objectives = {
      main: 'Add login',
      'port-the-tests': 'Port the tests',
      'rename-the-flags': 'Rename the options',
      'trim-the-logs': 'Trim the logs',
    };
    const formerly = { 'rename-the-flags': [['Rename the flags', undefined]] };
    equals('the tracks', Object.keys(logs()).sort(), [...Object.keys(objectives), 'fix-the-docs'].sort());
    for (const [track, objective] of Object.entries(objectives)) {
      const { plans: all } = await read(track, 'plan', 'list');
      equals(`plans on ${track}`, all.map((plan) => [plan.objective, plan.current]), [[objective, true], ...(formerly[track] ?? [])]);
    }
    await bench.done('doctor');
  });
} finally {
  shell?.ends();
  for (const host of running) host.kill();
  model.close();
}

// openShell has an agent start a shell in the background, before any planning mode: it runs commands below the host without the host's
// hooks. It returns a function that has it run one and returns the output.
async function openShell(agent) {
  const own = join(folder, 'shell');
  mkdirSync(own);
  execFileSync('mkfifo', [join(own, 'commands')]);
  write(own, 'shell.sh', `cd '${own}'
exec 9<>commands
while read -r n <&9 && [ -n "$n" ]; do
	(cd '${bench.workspace}' && exec timeout 50 bash "${own}/$n.sh") >"$n.out" 2>&1 </dev/null
	mv "$n.out" "$n.done"
done
`);
  const { tool, args } = agent.says.shell(`bash ${own}/shell.sh`);
  await agent.does({ tool, args: { ...args, run_in_background: true } });
  const say = (text) => {
    const pipe = openSync(join(own, 'commands'), 'r+'); // does not wait for a reader
    writeSync(pipe, text);
    closeSync(pipe);
  };
  let n = 0;
  const run = async (command) => {
    n++;
    write(own, `${n}.sh`, command);
    say(`${n}\n`);
    await eventually(() => existsSync(join(own, `${n}.done`)), () => `${command} has not ended`);
    const output = readFileSync(join(own, `${n}.done`), 'utf8');
    log(`$ ${command}\n  ${output.replaceAll('\n', '\n  ')}`);
    return output;
  };
  run.ends = () => say('\n');
  return run;
}

// escapes has a held agent try all ways to another track.
async function escapes(held, shell) {
  const before = { heads: heads(), files: files() };
  const unchanged = (way, told) => {
    const now = { heads: heads(), files: files() };
    now.heads['fix-the-docs'] = before.heads['fix-the-docs']; // it may act in its own planning mode
    equals(`${way} got out and was told: ${told}`, now, before);
    Object.assign(before, now);
  };
  const calls = [
    ['planloop_status', { track: 'main' }],
    ['planloop_start', { goal: 'Go away', track: 'main' }],
    ['planloop_start', { goal: 'Go away' }],
    ['planning_setup_plan', plans('Go away', 'Go')],
  ];
  for (const call of calls) {
    const told = await held.calls(...call);
    matches(`the call ${JSON.stringify(call)}`, told, refusal);
    unchanged(`the call ${JSON.stringify(call)}`, told);
  }
  await isOn(held, 'Fix the docs', 'after calls for another');

  const message = (id, method, params) => JSON.stringify({ jsonrpc: '2.0', ...(id && { id }), method, params });
  const hello = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'claude-code', version: '1' } };
  const frames = (name, tool, args) => {
    const call = message(2, 'tools/call', { name: tool, arguments: args });
    const lines = [message(1, 'initialize', hello), message(0, 'notifications/initialized'), call];
    write(folder, name, lines.join('\n') + '\n');
    return join(folder, name);
  };
  const adding = frames('adding', 'planning_add_step', { steps: [{ title: 'Go' }] });
  const beginning = frames('beginning', 'planning_setup_plan', plans('Go away', 'Go'));
  const bare = 'env -i PATH="$PATH" HOME="$HOME" XDG_STATE_HOME="$XDG_STATE_HOME"';
  const commands = [
    'planloop --track main step add Go',
    'PLANLOOP_TRACK=main planloop step add Go',
    'planloop --track go-away start "Go away"',
    'planloop step add Go',
    `${bare} planloop --track main step add Go`,
    `${bare} setsid planloop --track main step add Go`,
    `planloop --track main serve <${adding}`,
    `PLANLOOP_TRACK=main planloop serve <${adding}`,
    `${bare} planloop --track main serve <${adding}`,
    `planloop serve <${beginning}`,
    `${bare} PLANLOOP_TRACK=go-away planloop serve <${beginning}`,
  ];
  for (const command of commands) {
    unchanged(`the host's shell with ${command}`, await held.does(held.says.shell(command)));
    const told = await shell(command);
    const answer = told.replace(/.*"id":1,.*/, ''); // without a server's instructions
    matches(`a shell below the host with ${command}`, answer, refusal);
    unchanged(`a shell below the host with ${command}`, told);
  }

  // a child host without a person, started through the host's shell and below it
  const child = `${claude.command(packages)} -p '${prompt('child')}'`;
  matches('the host starts another', await held.does(held.says.shell(child)), refusal);
  for (const command of [child, `PLANLOOP_TRACK=main ${child}`, `env -u CLAUDE_CODE_SESSION_ID -u CLAUDECODE ${child}`]) {
    const told = shell(command);
    const agent = puppets.agent('child', claude.says);
    agent.story = () => `started by ${command}`;
    await isHeld(agent, 'as a child');
    for (const call of [...calls, ['planning_add_step', { steps: [{ title: 'Go' }] }]]) {
      matches(`a child's call ${JSON.stringify(call)}`, await agent.calls(...call), refusal);
    }
    await agent.ends();
    unchanged(command, await told);
  }
  await isOn(held, 'Fix the docs', 'after its attempts to leave');
}

if (isVerbose) for (const line of recorded(join(folder, 'recorded'))) console.log(line);
if (faults.length > 0) {
  console.error(`${faults.length} faults:\n${faults.map((fault) => `- ${fault.split('\n')[0]}`).join('\n')}`);
  process.exit(1);
}
const took = Math.round((Date.now() - began) / 1000);
console.log(`sessions in one directory keep their plans (${took}s, ${model.requests.length} requests to the model)`);
process.exit(0);
