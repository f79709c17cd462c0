// opencode, as an agent in conversation with a person.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';

import { configure as written, variables } from '../opencode.mjs';

export const title = 'opencode';
export { variables };

export function command(_, clients) {
  const folder = readdirSync(clients).find((name) => name.startsWith('opencode-linux-'));
  return folder && join(clients, folder, 'bin', 'opencode');
}

export function configure(where, model) {
  where.env.XDG_CONFIG_HOME = join(where.home, '.config');
  written(where.env.XDG_CONFIG_HOME, { model: `${model}/v1` });
}

export const session = (prompt) => ['run', '--title', 'planloop', prompt];

export const says = {
  write: (path, content) => ({ tool: 'write', args: { filePath: path, content } }),
  shell: (command) => ({ tool: 'bash', args: { command, description: 'Run it' } }),
  read: (path) => ({ tool: 'read', args: { filePath: path } }),
  spawn: (prompt) => ({ tool: 'task', args: { description: 'Look around', prompt, subagent_type: 'general' } }),
  skill: (name) => ({ tool: 'skill', args: { name } }),
  own: (tool, args) => ({ tool: `planloop_${tool}`, args }),
};
