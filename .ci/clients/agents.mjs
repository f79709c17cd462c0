// planloop runs a plan through the host opencode with a scripted model: each step gets an agent with its own context. One agent meddles
// outside its step, one ends without a report, and planloop is killed while one works.
//
//   node agents.mjs PROGRAM PACKAGES FOLDER
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';

import { Model } from './model.mjs';
import * as opencode from './opencode.mjs';
import { place, planloop } from './process.mjs';
import { meddling, outcomes, script, steps } from './words.mjs';

const [program, packages, folder] = process.argv.slice(2);

const secret = 'only-in-the-environment-of-the-person';
const where = place(program, folder);
Object.assign(where.env, opencode.variables, {
  PATH: dirname(program) + delimiter + where.env.PATH,
  XDG_CONFIG_HOME: join(folder, 'config'),
  MY_TOKEN: secret,
});

const words = script(where.workspace);
const model = await Model.listen((asked) => {
  const { step, attempt } = whereabouts(asked);
  const turns = words[step]?.[attempt - 1] ?? [{ text: 'Nobody told me what to say.' }];
  const reply = turns[asked.turn];
  return typeof reply === 'function' ? reply(asked.prompts[0]) : reply;
});

// whereabouts returns the step that a request to the model is about, and its agent for that step.
function whereabouts({ session, prompts }) {
  const step = prompts[0].split('\n')[0];
  const sessions = conversations().filter(([first]) => first.prompts[0].startsWith(step + '\n'));
  return { step, attempt: 1 + sessions.findIndex(([first]) => first.session === session) };
}

// conversations returns the requests to the model, by agent.
function conversations() {
  return [...Map.groupBy(model.requests, (asked) => asked.session).values()];
}

async function prepare() {
  rmSync(join(where.workspace, '.git'), { recursive: true });
  const git = (...args) => execFileSync('git', args, { cwd: where.workspace, env: where.env });
  git('init', '--quiet');
  git('-c', 'user.name=ci', '-c', 'user.email=ci@example.org', 'commit', '--quiet', '--allow-empty', '--message', 'Begin');

  opencode.configure(where.env.XDG_CONFIG_HOME, { model: model.url, planloop: ['planloop', 'serve'] });
  const own = join(where.env.XDG_CONFIG_HOME, 'planloop');
  mkdirSync(own, { recursive: true });
  const agents = { default: { command: opencode.command(packages), timeout: '2m', env: Object.keys(opencode.variables) } };
  writeFileSync(join(own, 'config.yaml'), `step_approval: never\nagents: ${JSON.stringify(agents)}\n`);

  writeFileSync(join(folder, 'plan.json'), JSON.stringify({ objective: 'Write four words', initial_steps: steps }));
  await done(planloop(where, 'start', '--file', join(folder, 'plan.json')));
}

// done waits for a command that must succeed, and returns its output.
async function done(running) {
  const status = await running.status();
  assert.equal(status, 0, `${running.name}: exit status ${status}\n${running.output}${running.errors}`);
  return running.output;
}

async function show(...args) {
  return JSON.parse(await done(planloop(where, 'show', '--json', ...args)));
}

// left lists the processes of this place, recognized by their environment.
function left() {
  return readdirSync('/proc').filter((pid) => {
    try {
      return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0').includes(`HOME=${where.home}`);
    } catch {
      return false; // it has ended, or belongs to another user
    }
  });
}

function described(pids) {
  return pids.map((pid) => `${pid} ${readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')}`).join('\n');
}

// killed runs the plan until the second agent for the third step works, and then kills planloop. It returns the id of a process that this
// agent has started.
async function killed() {
  const engine = planloop(where, 'run');
  try {
    const stuck = model.asked((asked) => asked.turn === 1 && isDeepStrictEqual(whereabouts(asked), { step: 'S003', attempt: 2 }));
    const ended = engine.status(150).then((status) => assert.fail(`it has ended before that, ${status}:\n${engine.output}${engine.errors}`));
    const { results } = await Promise.race([stuck, ended]);
    await followed(/left \d+/);
    ended.catch(() => {}); // it ends now
    assert.equal(await engine.stop('SIGKILL'), 'SIGKILL');
    return /left (\d+)/.exec(results[0])[1];
  } finally {
    engine.kill();
  }
}

// followed waits for output of the agent that works on the third step.
async function followed(text) {
  const logs = planloop(where, 'step', 'logs', 'S003', '--follow');
  try {
    await logs.until(text);
  } finally {
    logs.kill();
  }
}

// goesOn runs the rest of the plan, and returns planloop's output.
async function goesOn() {
  const { plan } = await show();
  assert.deepEqual(plan.steps.map((step) => step.status), ['done', 'done', 'in_progress', 'pending']);
  const engine = planloop(where, 'run');
  try {
    assert.equal(await engine.status(100), 0, engine.output + engine.errors);
    return engine.output + engine.errors;
  } finally {
    engine.kill();
  }
}

// checkContexts checks each agent's knowledge: its whole step, the outcomes of the steps before, and of the later ones only that they
// exist.
function checkContexts() {
  const talks = conversations();
  assert.deepEqual(talks.map(([first]) => first.prompts[0].split('\n')[0]), ['S001', 'S002', 'S003', 'S003', 'S003', 'S004']);
  talks.forEach(([first, ...rest], i) => {
    assert.deepEqual([first.prompts.length, first.results.length, first.turn], [1, 0, 0], `agent ${i + 1} begins afresh`);
    for (const later of rest) assert.deepEqual(later.prompts, first.prompts, `agent ${i + 1} is told nothing but its prompt`);
    const [prompt] = first.prompts;
    const own = Number(prompt.slice(1, 4)) - 1;
    for (const text of [steps[own].title, steps[own].details, steps[own].verify, steps[own].creates[0]])
      assert.ok(prompt.includes(text), `${text} is not in the prompt of agent ${i + 1}:\n${prompt}`);
    steps.forEach(({ details }, at) => {
      assert.equal(prompt.includes(outcomes[at]), at < own, `${outcomes[at]}, in the prompt of agent ${i + 1}:\n${prompt}`);
      if (at > own) assert.ok(!prompt.includes(details), `${details} is in the prompt of agent ${i + 1}:\n${prompt}`);
    });
  });
  const [second, third] = talks.slice(3, 5).map(([first]) => first.prompts[0]);
  assert.match(second, /and now I stop\.[^]*notes\.txt/, 'what the first attempt left');
  assert.match(third, /this is attempt 3[^]*left \d+[^]*notes\.txt/, 'what two attempts left, one of which was broken off');
}

// checkMeddling checks the refusals that the second step's agent got.
function checkMeddling() {
  const [, talk] = conversations();
  const { results } = talk.at(-1);
  meddling.forEach(([reply, refusal], i) => assert.match(results[i], refusal, JSON.stringify(reply)));
  assert.match(results.at(-1), /has been reported/);
}

async function checkPlan() {
  const { plan } = await show();
  assert.equal(plan.status, 'completed');
  assert.deepEqual(plan.steps.map((step) => step.status), ['done', 'done', 'done', 'done']);
  const whole = await Promise.all(plan.steps.map((step) => show(step.step_id)));
  assert.deepEqual(whole.map((step) => step.output), outcomes);
  assert.deepEqual(whole.map((step) => step.affected_files.toSorted()), [['one.txt'], ['two.txt'], ['notes.txt', 'three.txt'], ['four.txt', 'stray.txt']]);

  const { records } = JSON.parse(await done(planloop(where, 'log', '--last', '0', '--json')));
  const events = records.flatMap((record) => record.events);
  const of = (kind) => events.filter((event) => event.kind === kind).map((event) => event.step_id);
  assert.deepEqual(of('step_started'), ['S001', 'S002', 'S003', 'S003', 'S003', 'S004']);
  assert.deepEqual(of('step_finished'), ['S001', 'S002', 'S003', 'S004']);
  assert.deepEqual(of('agent_reported'), ['S001', 'S002', 'S003']); // the last one by its last line
  for (const kind of ['mode_entered', 'plan_cleared', 'steps_added']) assert.ok(!events.some((event) => event.kind === kind), kind);
}

try {
  await prepare();
  const sleeper = await killed();
  const said = await goesOn();
  assert.ok(!left().includes(sleeper), `what the killed one's agent had started runs on: ${sleeper}`);
  assert.deepEqual(left(), [], described(left()));
  checkContexts();
  checkMeddling();
  await checkPlan();
  assert.match(said, /stray\.txt/, 'nobody is told that a step changed a file that it does not name');
  const { results } = conversations()[0].at(-1);
  assert.match(results[1], /^PLANLOOP_RUN=/m);
  assert.ok(!results[1].includes(secret), 'an agent is given what the person did not name');
  console.log(`${conversations().length} agents, ${model.requests.length} requests to the model`);
} finally {
  model.close();
}
