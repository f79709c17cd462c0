// Claude Code in its own plan mode on a terminal, with a scripted model: its plan is reviewed in planloop, and tracked.
//
//   node planmode.mjs PROGRAM CLIENTS HOSTS FOLDER [STORY…]
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import * as claude from './hosts/claude.mjs';
import { write } from './hosts/files.mjs';
import { Model } from './model.mjs';
import { first, PlanStage, second, Talk } from './planstage.mjs';

const [program, , packages, folder, ...named] = process.argv.slice(2);

const planFile = ({ system, prompts }) => /\/\S+\/\.claude\/plans\/[\w-]+\.md/.exec(`${prompts.join('\n')}\n${system}`)[0];
const show = (text) => [(request) => claude.says.write(planFile(request), text), () => ({ tool: 'ExitPlanMode', args: {} })];

class Stage extends PlanStage {
  constructor(name) {
    super(program, join(folder, name), claude, model);
    stage = this;
  }

  talks(turns, ...options) {
    return new Talk(this, [claude.command(packages), ...options], turns);
  }
}

let stage;
const model = await Model.listen((request) => stage.talk.next(request));
const planning = ['--permission-mode', 'plan'];

const stories = {
  // A person requests changes in planloop, then approves; a new session goes on.
  async 'answered in planloop'() {
    new Stage('planloop');
    await stage.done('init', 'claude', '--yes');
    const turns = [...show(first), ...show(second), () => claude.says.own('planning_mark_step', { step_id: 'S001', status: 'in_progress' })];
    const talk = stage.talks(turns, ...planning);
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
    const later = stage.talks([() => ({ text: 'I see.' })]);
    await later.say('Go on.');
    assert.match(await later.told(0), /Greet by name[^]*Add the flag --name/);
    later.terminal.kill();
  },

  // The person answers Claude Code's own prompt first.
  async 'answered in Claude Code'() {
    new Stage('prompt');
    await stage.done('init', 'claude', '--yes');
    let goOn;
    const late = new Promise((resolve) => (goOn = resolve)).then(() => stage.person('approve'));
    const [write, exit] = show(second);
    const turns = [...show(first), () => claude.says.read(join(stage.workspace, 'kept.txt')), async (request) => late.then(() => write(request)), exit];
    const talk = stage.talks(turns, ...planning);
    await talk.say('Plan the greeting.');
    await stage.waits(/Print the greeting$/m);
    await talk.terminal.until(/3\. Tell Claude what to change/);
    await talk.terminal.press('\x1b[B\x1b[B', /❯ +(3\. +)?Tell/);
    talk.terminal.type('Greet with the name.');
    await talk.terminal.until(/with +the +name\./);
    const enter = setInterval(() => talk.terminal.type('\r'), 1000); // the first may come too early
    assert.match(await talk.told(2).finally(() => clearInterval(enter)), /Greet with the name\./);
    await stage.waits(/no plan is waiting/);
    goOn();
    assert.notEqual((await late).status, 0, 'nothing is left to approve');
    assert.match(await stage.done('log'), /answered in Claude Code/);
    await stage.waits(/Print the greeting with the name$/m);
    for (const hook of stage.hooks('claude')) process.kill(hook, 'SIGKILL'); // the plan still waits
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
  new Stage('person');
  await stage.done('init', 'claude', '--yes');
  write(stage.home, '.config/planloop/config.yaml', 'approval: person\n');
  const talk = stage.talks(show(first), ...planning);
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
  new Stage('other');
  await stage.done('init', 'claude', '--yes');
  const file = join(stage.home, '.claude', 'settings.json');
  const settings = JSON.parse(readFileSync(file, 'utf8'));
  const answer = { hookSpecificOutput: { hookEventName: 'PermissionRequest', decision: { behavior: 'deny', message: 'Another program says no.' } } };
  const other = join(stage.home, 'other-reviewer');
  writeFileSync(other, `#!/bin/sh\nwhile [ ! -e '${other}.go' ]; do sleep 0.1; done\necho '${JSON.stringify(answer)}'\n`, { mode: 0o755 });
  settings.hooks.PermissionRequest.push({ matcher: 'ExitPlanMode', hooks: [{ type: 'command', command: other }] });
  writeFileSync(file, JSON.stringify(settings));
  const talk = stage.talks([...show(first), () => claude.says.read(join(stage.workspace, 'kept.txt'))], ...planning);
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
    stage.talk.terminal.kill();
  }
  console.log(`ok: ${name}`);
}
model.close();
