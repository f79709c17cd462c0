// Codex.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { Terminal } from '../terminal.mjs';
import { write } from './files.mjs';

export const title = 'Codex';
export const settings = '.codex/hooks.json'; // with its hooks, below the home folder
export const variables = { SCRIPTED_KEY: 'none' };

export function command(packages) {
  const target = { x64: 'x86_64', arm64: 'aarch64' }[process.arch];
  return join(packages, '@openai', `codex-linux-${process.arch}`, 'vendor', `${target}-unknown-linux-musl`, 'bin', 'codex');
}

// configure writes the files of a person with earlier sessions in this workspace.
export function configure(where, model) {
  where.env.TMPDIR = join(where.home, 'tmp');
  write(where.home, 'tmp/.keep', '');
  write(
    where.home,
    '.codex/config.toml',
    `# written by hand
model = "gpt-5.5"
model_provider = "scripted"
check_for_update_on_startup = false
approval_policy = "never"
sandbox_mode = "danger-full-access"

[analytics]
enabled = false

[model_providers.scripted]
name = "Scripted"
base_url = "${model}/v1"
wire_api = "responses"
env_key = "SCRIPTED_KEY"
supports_websockets = false

[projects."${where.workspace}"]
trust_level = "trusted"
`,
  );
}

export const session = (prompt) => ['exec', prompt];

// trust approves planloop's hooks in its terminal interface, as a person would: Codex skips unreviewed hooks. It redraws only changes on
// its screen, so the test cannot wait for whole lines.
export async function trust(where, host, packages) {
  const terminal = new Terminal([host, '--no-daemon'], { cwd: where.workspace, env: where.env });
  try {
    await terminal.until(/new +or +changed/);
    await terminal.until(/2\. +Trust +all/);
    await terminal.press('2', /› +2/);
    terminal.type('\r');
    await terminal.until(/shortcuts|Ask|anything/);
    await terminal.press('\x03');
  } finally {
    terminal.kill();
  }
  assert.match(readFileSync(join(where.home, '.codex', 'config.toml'), 'utf8'), /pre_tool_use:0:0"\]\ntrusted_hash = /);
}

const patch = (path, content) => `*** Begin Patch\n*** Add File: ${path}\n+${content.trimEnd()}\n*** End Patch`;

export const says = {
  write: (path, content) => ({ tool: 'apply_patch', args: patch(path, content) }),
  shell: (command) => ({ tool: 'exec_command', args: { cmd: command } }),
  read: (path) => ({ tool: 'exec_command', args: { cmd: `cat ${path}` } }),
  spawn: (prompt) => ({ tool: 'multi_agent_v1.spawn_agent', args: { message: prompt } }),
  own: (tool, args) => ({ tool: `mcp__planloop.${tool}`, args }),
};

// programs is Codex with a model that writes programs that call its tools instead of calling them itself: all models that it knows, except
// the one above.
export const programs = {
  title: 'Codex, whose model writes programs,',
  variables,
  command,
  configure,
  trust,
  session: (prompt) => ['exec', '--model', 'gpt-6.1-sol', prompt],
  says: {
    write: (path, content) => program('apply_patch', patch(path, content)),
    shell: (command) => program('exec_command', { cmd: command }),
    read: (path) => program('exec_command', { cmd: `cat ${path}` }),
    spawn: (prompt) => ({ tool: 'collaboration.spawn_agent', args: { task_name: 'look', message: prompt, fork_turns: 'none' } }),
    own: (tool, args) => program(`mcp__planloop__${tool}`, args),
  },
};

function program(tool, args) {
  return { tool: 'functions.exec', args: `text(await tools.${tool}(${JSON.stringify(args)}))` };
}
