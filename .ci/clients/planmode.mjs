// Claude Code in its own plan mode on a terminal, with a scripted model: its plan is reviewed in planloop, and tracked.
//
//   node planmode.mjs PROGRAM CLIENTS HOSTS FOLDER [STORY…]
import assert from 'node:assert/strict';
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { Bench } from './hosts/bench.mjs';
import * as claude from './hosts/claude.mjs';
import { write } from './hosts/files.mjs';
import { Model } from './model.mjs';
import { run } from './process.mjs';
import { Terminal } from './terminal.mjs';

const [program, , packages, folder, ...named] = process.argv.slice(2);

const first = `# Greet by name

The program greets nobody yet.

## Steps

1. Add the flag --name
   It takes a text.
2. Print the greeting

## Verification

Run it.
`;
const second = first.replace('2. Print the greeting', '2. Print the greeting with the name');

// Talk is one session of Claude Code. turns are functions of what the model was asked; each returns the model's next answer.
class Talk {
  asked = [];

  constructor(bench, turns, ...options) {
    this.turns = [...turns];
    bench.talk = this;
    this.terminal = new Terminal([claude.command(packages), ...options], { cwd: bench.workspace, env: bench.env });
  }

  async say(text) {
    await this.terminal.until(/\? for shortcuts|shift\+tab to cycle/);
    this.terminal.type(text);
    await this.terminal.press('\r', /esc to interrupt/);
  }

  next(request) {
    if (request.tools.length === 0) return { text: 'A title' };
    this.asked.push(request);
    return this.turns.shift()?.(request) ?? { text: 'Done.' };
  }

  // told waits for the nth request to the model, and returns the result and the texts in it that are new.
  async told(n) {
    await eventually(() => this.asked.length > n, () => `the model was asked ${this.asked.length} times, not ${n + 1}; the terminal shows\n${this.terminal.output}`);
    const { results, prompts, system } = this.asked[n];
    return `${results.at(-1)}\n${prompts.slice(this.asked[n - 1]?.prompts.length ?? 0).join('\n')}\n${system}`;
  }
}

async function eventually(holds, story) {
  for (let left = 600; !(await holds()); left--) {
    if (left === 0) throw new Error(story());
    await sleep(100);
  }
}

const planFile = ({ system, prompts }) => /\/\S+\/\.claude\/plans\/[\w-]+\.md/.exec(`${prompts.join('\n')}\n${system}`)[0];
const show = (text) => [(request) => claude.says.write(planFile(request), text), () => ({ tool: 'ExitPlanMode', args: {} })];

class Stage extends Bench {
  constructor(name) {
    super(program, join(folder, name));
    Object.assign(this.env, claude.variables);
    claude.configure(this, model.origin);
    bench = this;
  }

  async status() {
    return JSON.parse(await this.done('status', '--json'));
  }

  phase(wanted) {
    return eventually(async () => ((await this.status()).phase ?? 'inactive') === wanted, () => `the phase is not ${wanted}; the terminal shows\n${this.talk.terminal.output}`);
  }

  // waits waits until a plan with a text is to be decided.
  waits(text) {
    const draft = () => run(this.program, ['show', '--draft'], { cwd: this.workspace, env: this.env });
    const holds = ({ output, errors }) => text.test(output + errors);
    return eventually(async () => holds(await draft()), () => `no plan waits with ${text}; the terminal shows\n${this.talk.terminal.output}`);
  }

  // person runs a command in a terminal of its own.
  async person(...args) {
    const terminal = new Terminal([this.program, ...args], { cwd: this.workspace, env: this.env });
    const status = await terminal.status();
    return { status, output: terminal.output };
  }

  // hooks lists the processes of planloop's hooks that wait.
  hooks() {
    return readdirSync('/proc').filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8').startsWith(`${this.program}\0hook\0claude\0`);
      } catch {
        return false; // it has ended, or is no process
      }
    });
  }
}

let bench;
const model = await Model.listen((request) => bench.talk.next(request));
const planning = ['--permission-mode', 'plan'];

const stories = {
  // A person requests changes in planloop, then approves; a new session goes on.
  async 'answered in planloop'() {
    const stage = new Stage('planloop');
    await stage.done('init', 'claude', '--yes');
    const turns = [...show(first), ...show(second), () => claude.says.own('planning_mark_step', { step_id: 'S001', status: 'in_progress' })];
    const talk = new Talk(stage, turns, ...planning);
    await talk.say('Plan the greeting.');
    await stage.waits(/Print the greeting$/m);
    assert.equal((await stage.person('edit', 'Greet with the name.')).status, 0);
    assert.match(await talk.told(2), /returned for changes by .*: Greet with the name\./);
    await stage.waits(/Print the greeting with the name$/m);
    const shown = await stage.approve('--comment', 'Begin with the test.');
    assert.match(shown, /Changes since the last review:[^]*Print the greeting with the name/);
    const told = await talk.told(4);
    assert.match(told, /approved/);
    assert.match(told, /Begin with the test\.[^]*tracks it as 2 steps/);
    assert.match(await talk.told(5), /S001/);
    talk.terminal.kill();
    const later = new Talk(stage, [() => ({ text: 'I see.' })]);
    await later.say('Go on.');
    assert.match(await later.told(0), /Greet by name[^]*Add the flag --name/);
    later.terminal.kill();
  },

  // The person answers Claude Code's own prompt first.
  async 'answered in Claude Code'() {
    const stage = new Stage('prompt');
    await stage.done('init', 'claude', '--yes');
    let goOn;
    const late = new Promise((resolve) => (goOn = resolve)).then(() => stage.person('approve'));
    const [write, exit] = show(second);
    const turns = [...show(first), () => claude.says.read(join(stage.workspace, 'kept.txt')), async (request) => late.then(() => write(request)), exit];
    const talk = new Talk(stage, turns, ...planning);
    await talk.say('Plan the greeting.');
    await stage.waits(/Print the greeting$/m);
    await talk.terminal.until(/3\. Tell Claude what to change/);
    await talk.terminal.press('\x1b[B\x1b[B', /❯ +(3\. +)?Tell/);
    talk.terminal.type('Greet with the name.');
    await talk.terminal.until(/with +the +name\./);
    talk.terminal.type('\r');
    assert.match(await talk.told(2), /Greet with the name\./);
    await stage.waits(/no plan is waiting/);
    goOn();
    assert.notEqual((await late).status, 0, 'nothing is left to approve');
    assert.match(await stage.done('log'), /answered in Claude Code/);
    await stage.waits(/Print the greeting with the name$/m);
    for (const hook of stage.hooks()) process.kill(hook, 'SIGKILL'); // the plan still waits
    await talk.terminal.until(/2\. Yes, manually approve edits/);
    await stage.waits(/Print the greeting with the name$/m);
    talk.terminal.type('2');
    assert.match(await talk.told(5), /confirmed through the client[^]*tracks it as 2 steps/);
    await stage.phase('executing');
    talk.terminal.kill();
  },
};

// Only a person's own decision counts: Claude Code does not ask, and gets the plan as the person changed it.
stories['only a person decides'] = async () => {
  const stage = new Stage('person');
  await stage.done('init', 'claude', '--yes');
  write(stage.home, '.config/planloop/config.yaml', 'approval: person\n');
  const talk = new Talk(stage, show(first), ...planning);
  await talk.say('Plan the greeting.');
  await stage.phase('submitted');
  assert.equal((await stage.person('step', 'edit', '2', '--title', 'Print the greeting twice')).status, 0);
  await stage.approve();
  const told = await talk.told(2);
  assert.match(told, /Edited by [^]*Print the greeting twice/);
  assert.match(told, /tracks it as 2 steps/);
  assert.doesNotMatch(talk.terminal.output, /Ready to code\?/);
};

// Another program's hook answers first: planloop notices, and doctor names it.
stories['another hook'] = async () => {
  const stage = new Stage('other');
  await stage.done('init', 'claude', '--yes');
  const file = join(stage.home, '.claude', 'settings.json');
  const settings = JSON.parse(readFileSync(file, 'utf8'));
  const answer = { hookSpecificOutput: { hookEventName: 'PermissionRequest', decision: { behavior: 'deny', message: 'Another program says no.' } } };
  const other = join(stage.home, 'other-reviewer');
  writeFileSync(other, `#!/bin/sh\nwhile [ ! -e '${other}.go' ]; do sleep 0.1; done\necho '${JSON.stringify(answer)}'\n`, { mode: 0o755 });
  settings.hooks.PermissionRequest.push({ matcher: 'ExitPlanMode', hooks: [{ type: 'command', command: other }] });
  writeFileSync(file, JSON.stringify(settings));
  const talk = new Talk(stage, [...show(first), () => claude.says.read(join(stage.workspace, 'kept.txt'))], ...planning);
  await talk.say('Plan the greeting.');
  await stage.waits(/Print the greeting$/m);
  writeFileSync(`${other}.go`, '');
  assert.match(await talk.told(2), /Another program says no/);
  await stage.waits(/no plan is waiting/);
};

for (const [name, story] of Object.entries(stories)) {
  if (named.length > 0 && !named.includes(name)) continue;
  try {
    await story();
  } catch (fault) {
    throw new Error(`${name}: ${fault.message}`, { cause: fault });
  } finally {
    bench.talk.terminal.kill();
  }
  console.log(`ok: ${name}`);
}
model.close();
