// Starts planloop as hosts do from each package, and talks to it.
//
//   node packages.mjs FOLDER BUNDLE NPM VERSION
//
// BUNDLE is an unpacked .mcpb, NPM the folder with the installed npm packages, VERSION the version that the programs must report.
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { spawn } from 'node:child_process';

import { within } from './process.mjs';

const [folder, bundle, npm, version] = process.argv.slice(2);

// handshake starts a server as a host does and lists its tools.
async function handshake(what, command, args, workspace) {
  const env = { PATH: process.env.PATH, HOME: join(folder, 'home'), XDG_STATE_HOME: join(folder, 'state') };
  const server = spawn(command, args, { cwd: workspace, env, stdio: ['pipe', 'pipe', 'inherit'] });
  const answers = new Map();
  let rest = '';
  server.stdout.setEncoding('utf8').on('data', (text) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop();
    for (const message of lines.filter(Boolean).map((line) => JSON.parse(line))) answers.get(message.id)?.(message);
  });
  const ended = new Promise((resolve, reject) => server.on('error', reject).on('close', (code, signal) => resolve(code ?? signal)));
  const ask = (id, method, params) => {
    const answered = new Promise((resolve) => answers.set(id, resolve));
    server.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`);
    return within(Promise.race([answered, ended.then((end) => assert.fail(`${what} ended with ${end}`))]), () => `${what}: no answer to ${method}`);
  };
  try {
    const client = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'packages', version: '1' } };
    const { result } = await ask(1, 'initialize', client);
    assert.equal(result.serverInfo.name, 'planloop', what);
    assert.equal(result.serverInfo.version, version, what);
    server.stdin.write('{"jsonrpc":"2.0","method":"notifications/initialized"}\n');
    const listed = await ask(2, 'tools/list', {});
    assert.ok(listed.result.tools.length >= 10, `${what} lists its tools`);
    const { result: called } = await ask(3, 'tools/call', { name: 'planloop_status', arguments: {} });
    assert.ok(!called.isError, `${what}: ${JSON.stringify(called)}`);
    server.stdin.end();
    assert.equal(await within(ended, () => `${what} goes on without its input`), 0, `${what} ends with its input`);
  } finally {
    server.kill('SIGKILL');
  }
  console.log(`${what}: started, asked and ended`);
}

const workspace = resolve(folder, 'project with a space');
mkdirSync(join(workspace, '.git'), { recursive: true });
mkdirSync(join(folder, 'home'), { recursive: true });

// A host replaces ${…} with its own values, and starts the result.
const manifest = JSON.parse(readFileSync(join(bundle, 'manifest.json'), 'utf8'));
assert.ok(!JSON.stringify(manifest).includes('"sensitive"'), 'the bundle asks for no secret');
const filled = (text) => text.replaceAll('${__dirname}', resolve(bundle)).replaceAll('${user_config.workspace}', workspace);
const { command, args } = manifest.server.mcp_config;
assert.equal(filled(command), resolve(bundle, manifest.server.entry_point));
await handshake('the .mcpb bundle', filled(command), args.map(filled), '/');

await handshake('npx planloop', 'npx', ['--offline', '--prefix', resolve(npm), 'planloop', 'serve', '--workspace', workspace], resolve(npm));
