// Gemini CLI.
import { join } from 'node:path';

import { write } from './files.mjs';

export const title = 'Gemini CLI';
export const settings = '.gemini/settings.json'; // with its hooks, below the home folder
export const variables = { GEMINI_API_KEY: 'none', GEMINI_CLI_NO_RELAUNCH: 'true' };

export function command(packages) {
  return join(packages, '@google', 'gemini-cli', 'bundle', 'gemini.js');
}

export function configure(where, model) {
  where.env.GOOGLE_GEMINI_BASE_URL = model;
  write(where.home, '.gemini/settings.json', {
    general: { enableAutoUpdate: false },
    privacy: { usageStatisticsEnabled: false },
    security: { auth: { selectedType: 'gemini-api-key' }, folderTrust: { enabled: false } },
  });
}

// The model is named to save a request that would select one.
export const session = (prompt) => ['--model', 'gemini-2.5-pro', '--yolo', '--prompt', prompt];

export const says = {
  write: (path, content) => ({ tool: 'write_file', args: { file_path: path, content } }),
  shell: (command) => ({ tool: 'run_shell_command', args: { command, description: 'Run it' } }),
  read: (path) => ({ tool: 'read_file', args: { file_path: path } }),
  spawn: (prompt) => ({ tool: 'invoke_agent', args: { agent_name: 'generalist', prompt } }),
  skill: (name) => ({ tool: 'activate_skill', args: { name } }),
  own: (tool, args) => ({ tool: `mcp_planloop_${tool}`, args }),
};
