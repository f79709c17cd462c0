// Codex and Gemini CLI in their own plan modes on a terminal, with a scripted model: while planloop's page runs in the background, a plan is
// reviewed in planloop first, and then the host asks its user.
//
//   node planhosts.mjs PROGRAM CLIENTS HOSTS FOLDER [STORY…]
import assert from 'node:assert/strict';
import { join } from 'node:path';

import * as codex from './hosts/codex.mjs';
import * as gemini from './hosts/gemini.mjs';
import { Model } from './model.mjs';
import { first, PlanStage, second, Talk } from './planstage.mjs';

const [program, , packages, folder, ...named] = process.argv.slice(2);

let stage;
const model = await Model.listen((request) => stage.talk.next(request));

// begin connects planloop to a host, and has a person start the page.
async function begin(name, host) {
  stage = new PlanStage(program, join(folder, name), host, model);
  await stage.done('init', name.split(' ')[0], '--yes');
  await host.trust?.(stage, host.command(packages), packages);
  assert.equal((await stage.person('review', '--background')).status, 0);
}

// review has a person request changes, then approve the revised plan. n is the number of the model's request that gets the changes.
async function review(n, prompt) {
  await stage.waits(/Print the greeting$/m);
  assert.equal((await stage.person('edit', 'Greet with the name.')).status, 0);
  assert.match(await stage.talk.told(n), /returned for changes by .*: Greet with the name\./);
  await stage.waits(/Print the greeting with the name$/m);
  assert.equal((await stage.person('step', 'edit', '1', '--title', 'Add the flag --whom')).status, 0);
  assert.doesNotMatch(stage.talk.terminal.output, prompt);
  assert.match(await stage.approve('--comment', 'Begin with the test.'), /Changes since the last review:[^]*Print the greeting with the name/);
  await stage.talk.terminal.until(prompt);
  await stage.phase('executing');
}

const approval = /approved by [^]*Begin with the test\.[^]*tracks it as 2 steps[^]*Add the flag --whom/;

const planFile = ({ system }) => join(stage.home, /\.gemini\/tmp\/\S+?\/plans\b/.exec(system)[0], 'greet.md');
const show = (text) => [(request) => gemini.says.write(planFile(request), text), () => ({ tool: 'exit_plan_mode', args: { plan_filename: 'greet.md' } })];
const planning = async (turns) => {
  const talk = new Talk(stage, [process.execPath, gemini.command(packages), '--model', 'gemini-2.5-pro', '--approval-mode', 'plan'], turns);
  await talk.say('Plan the greeting.', /1 +MCP +server/, /esc +to +cancel/);
  return talk;
};

const stories = {
  async gemini() {
    await begin('gemini', gemini);
    const talk = await planning([...show(first), ...show(second), () => gemini.says.own('planning_mark_step', { step_id: 'S001', status: 'in_progress' })]);
    await review(2, /Yes, +manually +accept +edits/);
    talk.terminal.type('2');
    const told = await talk.told(4);
    assert.match(told, /Plan approved\. Switching to Default mode/);
    assert.match(told, approval);
  },

  // No page runs: the person answers in Gemini CLI alone, and the accepted plan is a draft.
  async 'gemini in its prompt'() {
    await begin('gemini in its prompt', gemini);
    await stage.person('review', '--stop');
    const talk = await planning([...show(first), ...show(second)]);
    await talk.terminal.until(/Yes, +manually +accept +edits/);
    talk.terminal.type('3');
    await talk.terminal.until(/Enter +to +submit/);
    await talk.terminal.press('?', /3\. +\?/);
    await talk.terminal.press('\r', /Executing +Hook/);
    assert.match(await talk.told(2), /Plan rejected\. User feedback: \?/);
    await talk.terminal.until(/Yes, +manually +accept +edits/);
    assert.equal((await stage.status()).situation, undefined, 'a rejected plan is not kept');
    talk.terminal.type('2');
    assert.match(await talk.told(4), /Plan approved/);
    assert.match(await stage.done('status'), /Waiting plan:[^]*Greet by name \(2 steps\)[^]*Print the greeting with the name/);
  },

  async codex() {
    await begin('codex', codex);
    const propose = (text) => () => ({ text: `This is my plan.\n<proposed_plan>\n${text}</proposed_plan>` });
    const talk = new Talk(stage, [codex.command(packages), '--no-daemon'], [propose(first), propose(second)]);
    await talk.say('/plan Plan the greeting.', /shortcuts|Ask|anything/, /esc +to +interrupt|Working/);
    await review(1, /Implement +this +plan\?/);
    await talk.terminal.until(/1\. +Yes, +implement/);
    talk.terminal.type('\r');
    const told = await talk.told(2);
    assert.match(told, /Implement the plan\./);
    assert.match(told, approval);
  },
};

for (const [name, story] of Object.entries(stories)) {
  if (named.length > 0 && !named.includes(name)) continue;
  try {
    await story();
  } catch (fault) {
    throw new Error(`${name}: ${fault.message}`, { cause: fault });
  } finally {
    await stage.person('review', '--stop');
    stage.talk?.terminal.kill();
  }
  console.log(`ok: ${name}`);
}
model.close();
