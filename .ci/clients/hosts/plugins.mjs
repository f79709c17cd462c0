// Claude Code and Codex with planloop's plugins, which start the planloop on the PATH. They have no other connection to it.
import assert from 'node:assert/strict';
import { dirname } from 'node:path';

import { run } from '../process.mjs';
import * as claude from './claude.mjs';
import * as codex from './codex.mjs';
import { write } from './files.mjs';

// plugged installs the plugin from the repository's marketplace. Afterwards init has nothing to write.
async function plugged(bench, host, install) {
  bench.env.PATH = `${dirname(bench.program)}:${bench.env.PATH}`;
  for (const args of [['marketplace', 'add', process.cwd()], [install, 'planloop@planloop']]) {
    const { status, output, errors } = await run(bench.command[0], [...bench.command.slice(1), 'plugin', ...args], { cwd: bench.workspace, env: bench.env });
    assert.equal(status, 0, `plugin ${args.join(' ')}: ${output}${errors}`);
  }
  const { output } = await run(bench.program, ['init', host, '--dry-run', '--json'], { cwd: bench.workspace, env: bench.env });
  const [told] = JSON.parse(output).hosts;
  assert.deepEqual([told.plugin, told.server, told.hooks, told.files.some((file) => file.changes)],
    ['planloop@planloop', 'by the plugin', 'by the plugin', false], output);
}

const claudePlugin = {
  ...claude,
  title: 'Claude Code with the plugin',
  configure(where, model) {
    claude.configure(where, model);
    write(where.home, '.claude/settings.json', { permissions: { allow: ['Bash', 'Write', 'Agent', 'Skill', 'mcp__plugin_planloop_planloop'] } });
  },
  installs: (bench) => plugged(bench, 'claude', 'install'),
  says: { ...claude.says, own: (tool, args) => ({ tool: `mcp__plugin_planloop_planloop__${tool}`, args }) },
};

const codexPlugin = { ...codex, title: 'Codex with the plugin', installs: (bench) => plugged(bench, 'codex', 'add') };

export const plugins = { 'claude-plugin': claudePlugin, 'codex-plugin': codexPlugin };
