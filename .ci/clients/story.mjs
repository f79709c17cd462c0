// A plan's life through the MCP Inspector, over each transport in both protocol eras. Another process watches, and the command line
// restores the plan as a draft.
//
//   node story.mjs PROGRAM INSPECTOR FOLDER
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { Inspector } from './inspector.mjs';
import { place, planloop, serveHTTP } from './process.mjs';

const [program, command, folder] = process.argv.slice(2);

const six = ['planning_setup_plan', 'planning_add_step', 'planning_update_step', 'planning_mark_step', 'planning_clear_plan', 'planning_read_plan'];

// A model's mistakes, and the words that must help it.
const mistakes = [
  ['planning_setup_plan', {}, /objective/],
  ['planning_setup_plan', { objective: '   ' }, /objective/],
  ['planning_setup_plan', { objective: 'x', objektive: 'y' }, /did you mean "objective"/],
  ['planning_setup_plan', { objective: 'caf\u00e9' }, /ASCII/],
  ['planning_setup_plan', { objective: 'x'.repeat(241) }, /240/],
  ['planning_add_step', { steps: [] }, /steps/],
  ['planning_update_step', { step_id: 'S02x', title: 'x' }, /step id/],
  ['planning_update_step', { step_id: 'S002' }, /title|details/],
  ['planning_mark_step', { step_id: 'S099', status: 'done' }, /S099/],
  ['planning_mark_step', { step_id: 'S001', status: 'almost' }, /in_progress/],
  ['planning_mark_step', { step_id: 'S001', status: 'done', note: ' ' }, /note/],
  ['planning_clear_plan', { force: true }, /force/],
];

// The Inspector starts anew for each call, and takes a second or more. So one face has every mistake, resource and prompt, one more has the
// whole life of a plan, and the others its beginning.
const [beginning, life, everything] = [0, 1, 2];

async function story(inspector, where, extent) {
  await checkTools(inspector);
  const watch = planloop(where, 'show', '--watch');
  try {
    await watch.until('No plan yet');
    await setUp(inspector, watch);
    if (extent >= life) await work(inspector, watch);
    if (extent >= everything) await checkResources(inspector);
    await makeMistakes(inspector, extent >= everything ? mistakes : mistakes.slice(0, 1));
    if (extent >= everything) await checkPrompts(inspector);
    if (extent >= life) await clearAndRestore(inspector, watch, where);
    if (extent >= life) await loop(inspector, watch, where);
    assert.equal(await watch.stop('SIGINT'), 0, `show --watch after Ctrl-C: ${watch.errors}`);
  } finally {
    watch.kill();
  }
}

async function checkTools(inspector) {
  // --strict has the Inspector judge how well other clients can use the schemas.
  const { tools } = await inspector.request('tools/list', '--strict');
  const names = tools.map((tool) => tool.name);
  for (const name of six) assert.ok(names.includes(name), `${name} is not among ${names}`);
  for (const tool of tools) {
    assert.ok(tool.title && tool.description, `${tool.name} has a title and a description`);
    const takesMore = ['planloop_start', 'planloop_update', 'planning_submit_plan'].includes(tool.name); // unlisted fields
    assert.equal(tool.inputSchema.additionalProperties, takesMore ? undefined : false, `${tool.name} refuses unknown fields`);
    for (const hint of ['readOnlyHint', 'destructiveHint', 'idempotentHint', 'openWorldHint'])
      assert.equal(typeof tool.annotations[hint], 'boolean', `${tool.name} has ${hint}`);
  }
}

async function setUp(inspector, watch) {
  const set = await inspector.call('planning_setup_plan', {
    objective: 'Fix the login bug',
    initial_steps: [{ title: 'Write a failing test', details: 'in the tests of the session' }, { title: 'Fix it all' }],
  });
  assert.equal(set.status, 'active');
  assert.equal(set.step_ids, 'S001-S002');
  await watch.until(/Fix the login bug[^]*0 of 2 done[^]*S001 {2}Write a failing test[^]*S002 {2}Fix it all/);

  const added = await inspector.call('planning_add_step', { steps: [{ title: 'Update the documents' }] });
  assert.equal(added.step_ids, 'S003');
  await watch.until(/0 of 3 done[^]*S003 {2}Update the documents/);
}

async function work(inspector, watch) {
  const updated = await inspector.call('planning_update_step', { step_id: 'S002', title: 'Fix the expiry check' });
  assert.equal(updated.title, 'Fix the expiry check');
  await watch.until('S002  Fix the expiry check');

  const started = await inspector.call('planning_mark_step', { step_id: 'S001', status: 'in_progress' });
  assert.equal(started.status, 'in_progress');
  await watch.until('▸ S001  Write a failing test');

  const done = await inspector.call('planning_mark_step', { step_id: 'S001', status: 'done', note: 'it fails as it should' });
  assert.equal(done.progress, '1/3 done');
  await watch.until(/1 of 3 done[^]*✓ S001/);

  await checkPlan(inspector);
}

// checkPlan reads the plan after the work.
async function checkPlan(inspector) {
  const read = await inspector.call('planning_read_plan');
  assert.equal(read.objective, 'Fix the login bug');
  assert.equal(read.status, 'active');
  assert.match(read.next_action, /S002/);
  const ready = await inspector.call('planning_read_plan', { status: 'ready' });
  assert.deepEqual(ready.steps.map((step) => step.step_id), ['S002', 'S003']);
}

async function checkResources(inspector) {
  const { resources } = await inspector.request('resources/list');
  const listed = resources.map((resource) => resource.uri);
  for (const uri of ['plan://current', 'plan://current.md', 'plan://current.mmd', 'plan://plans', 'plan://log', 'plan://status'])
    assert.ok(listed.includes(uri), `${uri} is not among ${listed}`);
  for (const { uri } of resources) assert.ok(await read(inspector, uri), `${uri} is empty`);

  const { resourceTemplates } = await inspector.request('resources/templates/list');
  const templates = resourceTemplates.map((template) => template.uriTemplate);
  assert.ok(templates.includes('plan://steps/{step_id}'), `${templates}`);

  const { plan, revision } = await current(inspector);
  assert.equal(revision, 5, 'one revision for each accepted call');
  assert.deepEqual(plan.steps.map((step) => [step.step_id, step.status, step.title]), [
    ['S001', 'done', 'Write a failing test'],
    ['S002', 'pending', 'Fix the expiry check'],
    ['S003', 'pending', 'Update the documents'],
  ]);
  assert.match(await read(inspector, 'plan://steps/S002'), /Fix the expiry check/);
  await inspector.refused('resources/read', '--uri', 'plan://steps/S099');
  await inspector.refused('resources/read', '--uri', 'plan://nowhere');
}

async function makeMistakes(inspector, mistakes) {
  const before = await current(inspector);
  for (const [tool, input, help] of mistakes) {
    const text = await inspector.callInVain(tool, input);
    assert.match(text, /^Nothing was changed\./, `${tool} ${JSON.stringify(input)}`);
    assert.match(text, help, `${tool} ${JSON.stringify(input)}`);
  }
  await inspector.refused('tools/call', '--tool-name', 'planning_nonsense');
  assert.deepEqual(await current(inspector), before);
}

async function checkPrompts(inspector) {
  const { prompts } = await inspector.request('prompts/list');
  const names = prompts.map((prompt) => prompt.name);
  for (const name of ['react', 'plan_act_reflect', 'goal_decompose_route_synthesise'])
    assert.ok(names.includes(name), `${name} is not among ${names}`);
  const { messages } = await inspector.request('prompts/get', '--prompt-name', 'react', '--prompt-args', 'goal=Count the stars');
  assert.match(messages.map((message) => message.content.text).join('\n'), /Count the stars/);
}

async function clearAndRestore(inspector, watch, where) {
  const cleared = await inspector.call('planning_clear_plan');
  assert.equal(cleared.status, 'abandoned');
  assert.equal(cleared.discarded, 3);
  await watch.until('cleared, no steps');
  const { plan } = await current(inspector);
  assert.equal(plan.status, 'abandoned');
  assert.deepEqual(plan.steps ?? [], []);

  const restore = planloop(where, 'plan', 'restore', cleared.plan_id); // without a person at a terminal
  assert.equal(await restore.status(), 0, restore.errors);
  assert.match(restore.output, /is a draft with S001-S003.*; a person must approve it/);
  assert.deepEqual((await current(inspector)).plan.steps ?? [], []);
}

// loop completes planloop's loop once: a goal, the next action, a plan that the gates refuse, and one that passes.
async function loop(inspector, watch, where) {
  writeFileSync(join(where.workspace, 'login.go'), 'package login\n');
  const started = await inspector.call('planloop_start', { goal: 'Implement user authentication' });
  assert.equal(started.status, 'session_created');
  await watch.until('Implement user authentication');

  const { now, session } = await inspector.call('planloop_status');
  assert.equal(now.reason, 'ready_for_task');
  assert.equal(now.current_task.title, "Decompose the goal 'Implement user authentication' into a detailed task list for planloop.");
  assert.equal(session.id, started.session_id);
  assert.deepEqual(JSON.parse(await read(inspector, 'plan://status')).now, now);

  const before = await current(inspector);
  const task = { title: 'Check the password in the login handler', type: 'feature', context_hints: ['Read `login.go`.'], relevant_file_paths: ['login.go'] };
  const refusal = await inspector.callInVain('planloop_update', { add_tasks: [{ ...task, relevant_file_paths: ['no/such.go'] }, { title: 'Write the tests of it' }] });
  assert.match(refusal, /plan_validation_failed[^]*no\/such\.go[^]*missing the `relevant_file_paths` field/);
  assert.deepEqual(await current(inspector), before);

  const updated = await inspector.call('planloop_update', { add_tasks: [task], update_tasks: [{ id: 1, status: 'DONE' }] });
  assert.deepEqual([updated.status, updated.task_ids, updated.progress], ['success', [2], '1/2 done']);
  await watch.until(/1 of 2 done[^]*S002 {2}Check the password in the login handler/);
}

async function read(inspector, uri) {
  const { contents } = await inspector.request('resources/read', '--uri', uri);
  assert.equal(contents.length, 1, uri);
  assert.equal(contents[0].uri, uri);
  return contents[0].text;
}

async function current(inspector) {
  return JSON.parse(await read(inspector, 'plan://current'));
}

async function overStdio(where, era, extent) {
  await story(Inspector.stdio(command, where, era), where, extent);
}

// The Inspector leaves without ending its HTTP session, so the server cannot know that the owner of a claim is gone. With a name all its
// calls count as one agent's.
async function overHTTP(where, era, transport, path, extent) {
  const { server, origin } = await serveHTTP(where, '--agent', 'inspector');
  try {
    await story(Inspector.url(command, where, era, transport, origin + path), where, extent);
    assert.equal(await server.stop(), 0, `the server after SIGTERM: ${server.errors}`);
  } finally {
    server.kill();
  }
}

const faces = {
  'stdio, with handshake': (where) => overStdio(where, 'legacy', everything),
  'stdio, stateless': (where) => overStdio(where, 'modern', beginning),
  'streamable HTTP, with handshake': (where) => overHTTP(where, 'legacy', 'http', '/mcp', beginning),
  'streamable HTTP, stateless': (where) => overHTTP(where, 'modern', 'http', '/mcp', life),
  'HTTP with server-sent events': (where) => overHTTP(where, 'legacy', 'sse', '/sse', beginning),
};

// Two at a time: each story has its own workspace and mostly waits for the Inspector to start.
const queue = Object.entries(faces);
async function lane() {
  for (let face = queue.shift(); face; face = queue.shift()) {
    const [name, tell] = face;
    const began = Date.now();
    try {
      await tell(place(program, join(folder, name.replace(/\W+/g, '-'))));
    } catch (error) {
      throw new Error(`over ${name}: ${error.message}`, { cause: error });
    }
    console.log(`the story holds over ${name} (${Math.round((Date.now() - began) / 1000)}s)`);
  }
}
try {
  await Promise.all([lane(), lane()]);
} catch (error) {
  console.error(error.message);
  console.error(error.cause?.stack ?? error.stack);
  process.exitCode = 1;
  queue.length = 0;
}
