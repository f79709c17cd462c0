// A real server connected through planloop: the reference server for files, from the user's configuration. An agent sees its tools,
// planning mode blocks them, and a plan calls them.
//
//   node downstream.mjs PROGRAM PACKAGES FOLDER
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { Inspector } from './inspector.mjs';
import { place, planloop } from './process.mjs';

const [program, packages, folder] = process.argv.slice(2);
const command = join(packages, '.bin', 'mcp-inspector');
const server = join(packages, '.bin', 'mcp-server-filesystem');
const sdk = (path) => import(join(packages, '@modelcontextprotocol', 'sdk', 'dist', 'esm', path));
const { Client } = await sdk('client/index.js');
const { StdioClientTransport } = await sdk('client/stdio.js');
const { ToolListChangedNotificationSchema } = await sdk('types.js');

const reading = ['read_text_file', 'read_media_file', 'read_multiple_files', 'list_directory', 'list_directory_with_sizes', 'directory_tree', 'search_files', 'get_file_info', 'list_allowed_directories'];
const writing = ['write_file', 'edit_file', 'create_directory', 'move_file'];
const ours = (name) => `files__${name}`;

const filesFor = (where) => ({ command: process.execPath, args: [server, where.workspace] });

// behind makes a place where planloop offers the server.
function behind(name, more) {
  const where = place(program, join(folder, name));
  mkdirSync(join(where.home, '.config', 'planloop'), { recursive: true });
  const configuration = { toolsets: ['planning', 'loop', 'mode', 'servers'], servers: { files: filesFor(where) }, ...more };
  writeFileSync(join(where.home, '.config', 'planloop', 'config.yaml'), JSON.stringify(configuration));
  writeFileSync(join(where.workspace, 'greeting.txt'), 'Good morning\n');
  return where;
}

// said returns the output of a command, which must exit with the given status.
async function said(status, running) {
  assert.equal(await running.status(), status, `${running.name}\n${running.output}${running.errors}`);
  return running.output;
}

const textOf = (result) => result.content.map((part) => part.text).join('\n');

// An agent's ways to its server: the SDK, by one connection, and the Inspector, by the stateless revision.
async function connected(where, process = { command: where.program, args: ['serve'] }) {
  const client = new Client({ name: 'ci', version: '1' });
  const changes = [];
  client.setNotificationHandler(ToolListChangedNotificationSchema, () => changes.push('tools'));
  await client.connect(new StdioClientTransport({ ...process, cwd: where.workspace, env: where.env, stderr: 'ignore' }));
  return {
    changes,
    list: async () => (await client.listTools()).tools,
    call: (name, input) => client.callTool({ name, arguments: input }),
    close: () => client.close(),
  };
}

function stateless(where) {
  const inspector = Inspector.stdio(command, where, 'modern');
  return {
    list: async () => (await inspector.request('tools/list')).tools,
    call: (name, input) => inspector.request('tools/call', '--tool-name', name, '--tool-args-json', JSON.stringify(input)),
    close: () => {},
  };
}

async function offered(agent) {
  const names = (await agent.list()).map((tool) => tool.name);
  return names.filter((name) => name.startsWith(ours('')));
}

// anAgent uses the server's tools, outside planning mode and in it.
async function anAgent(agent, where) {
  const file = (name) => join(where.workspace, name);
  const all = await offered(agent);
  for (const name of [...reading, ...writing]) assert.ok(all.includes(ours(name)), `${name} is not among ${all}`);
  const read = await agent.call(ours('read_text_file'), { path: file('greeting.txt') });
  assert.deepEqual([textOf(read), read.structuredContent], ['Good morning\n', { content: 'Good morning\n' }]);
  await agent.call(ours('write_file'), { path: file('reply.txt'), content: 'And to you\n' });
  assert.equal(readFileSync(file('reply.txt'), 'utf8'), 'And to you\n');

  await agent.call('planning_enter_plan_mode', { reason: 'Look first' });
  const restricted = await offered(agent);
  for (const name of reading) assert.ok(restricted.includes(ours(name)), `${name} is not among ${restricted}`);
  for (const name of writing) assert.ok(!restricted.includes(ours(name)), `${name} is offered in planning mode`);
  assert.equal(textOf(await agent.call(ours('read_text_file'), { path: file('reply.txt') })), 'And to you\n');
}

// inVain calls tools that must have no effect: the Inspector would not call unlisted ones.
async function inVain(agent, where) {
  const file = (name) => join(where.workspace, name);
  const refused = async (tool, input, why) => {
    const result = await agent.call(ours(tool), input);
    assert.ok(result.isError, JSON.stringify(result));
    assert.match(textOf(result), why, tool);
  };
  await refused('read_text_file', { path: file('nowhere.txt') }, /ENOENT/);
  await refused('read_text_file', { path: '/etc/passwd' }, /Access denied/);
  await refused('read_text_file', {}, /path/);
  const held = {
    write_file: { path: file('new.txt'), content: 'x' },
    edit_file: { path: file('greeting.txt'), edits: [{ oldText: 'morning', newText: 'night' }] },
    create_directory: { path: file('new') },
    move_file: { source: file('greeting.txt'), destination: file('new.txt') },
  };
  for (const [tool, input] of Object.entries(held)) await refused(tool, input, /planning mode/i);
  assert.equal(readFileSync(file('greeting.txt'), 'utf8'), 'Good morning\n');
  for (const name of ['new', 'new.txt']) assert.ok(!existsSync(file(name)), `${name} was made in planning mode`);
  assert.ok(agent.changes.length > 0, 'nobody told that the list of tools has changed');
}

async function checkStatus(where) {
  const { servers } = JSON.parse(await said(0, planloop(where, 'servers', '--json')));
  const [files] = servers;
  assert.deepEqual([files.name, files.state], ['files', 'ready']);
  const passing = files.tools.filter((tool) => tool.passes_in_planning_mode).map((tool) => tool.name);
  for (const name of reading) assert.ok(passing.includes(ours(name)), `${name} is not among ${passing}`);
  for (const name of writing) assert.ok(!passing.includes(ours(name)), `${name} passes in planning mode`);
}

// answering returns a plan that names the server's tools.
function answering(where) {
  const [greeting, reply] = ['greeting.txt', 'reply.txt'].map((name) => join(where.workspace, name));
  return [
    { title: 'Read the greeting', tool: ours('read_text_file'), args: { path: greeting } },
    { title: 'Repeat it', tool: ours('write_file'), args: { path: reply, content: '$S001.content' } },
    { title: 'Look at both', tool: ours('list_directory'), args: { path: where.workspace }, depends_on: ['S002'] },
  ];
}

async function setUp(where, steps) {
  const file = join(folder, 'plan.json');
  writeFileSync(file, JSON.stringify({ objective: 'Answer the greeting', initial_steps: steps }));
  return planloop(where, 'start', '--file', file);
}

// aPlan runs: for a user who wants to be asked before anything is overwritten, and for one who does not.
async function aPlan() {
  const careful = behind('careful');
  await said(0, await setUp(careful, answering(careful)));
  assert.match(await said(4, planloop(careful, 'run')), /planloop approve S002/);
  assert.ok(!existsSync(join(careful.workspace, 'reply.txt')), 'a file was written before anybody said yes');

  const trusting = behind('trusting', { step_approval: 'never' });
  await said(0, await setUp(trusting, answering(trusting)));
  await said(0, planloop(trusting, 'run'));
  assert.equal(readFileSync(join(trusting.workspace, 'reply.txt'), 'utf8'), 'Good morning\n');
  assert.match(await said(0, planloop(trusting, 'show', 'S003')), /\[FILE\] reply\.txt/);

  // Arguments that the server rejects, and tools it lacks, are refused before there is a plan.
  const bad = [
    [{ title: 'Read', tool: ours('read_text_file'), args: { pfad: 'greeting.txt' } }, /Invalid args for files__read_text_file[^]*path/],
    [{ title: 'Read', tool: ours('read_txt_file'), args: {} }, /Unknown tool: files__read_txt_file[^]*files__read_text_file/],
  ];
  for (const [step, problem] of bad) {
    const refused = await setUp(trusting, [step]);
    assert.equal(await refused.status(), 2, refused.output);
    assert.match(refused.errors, problem);
  }
}

// theWayThrough measures the time that planloop adds to a call: the difference of the medians of alternating calls, in milliseconds.
async function theWayThrough() {
  const where = behind('measured');
  const [direct, through] = await Promise.all([connected(where, filesFor(where)), connected(where)]);
  const took = async (agent, name) => {
    const began = performance.now();
    await agent.call(name, { path: join(where.workspace, 'greeting.txt') });
    return performance.now() - began;
  };
  try {
    const times = [[], []];
    for (let i = 0; i < 300; i++) {
      times[0].push(await took(direct, 'read_text_file'));
      times[1].push(await took(through, ours('read_text_file')));
    }
    const [one, other] = times.map((list) => list.toSorted((a, b) => a - b)[150]);
    console.log(`a call takes ${one.toFixed(2)} ms, and ${other.toFixed(2)} ms through planloop`);
    return other - one;
  } finally {
    await Promise.all([direct.close(), through.close()]);
  }
}

for (const [face, reach] of Object.entries({ 'with handshake': connected, stateless })) {
  const where = behind(face.replace(' ', '-'));
  const agent = await reach(where);
  try {
    await anAgent(agent, where);
    if (agent.changes) await inVain(agent, where);
  } finally {
    await agent.close();
  }
  await checkStatus(where);
  console.log(`an agent uses the server's tools (${face})`);
}
await aPlan();
console.log("a plan names the server's tools, and is run");

let added = await theWayThrough();
for (let again = 0; again < 2 && added > 2; again++) added = await theWayThrough(); // the machine may be busy
assert.ok(added <= 2, `planloop adds ${added} ms to a call`);
