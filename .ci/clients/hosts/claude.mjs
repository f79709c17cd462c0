// Claude Code.
import { join } from 'node:path';

import { write } from './files.mjs';

export const title = 'Claude Code';
export const settings = '.claude/settings.json'; // with its hooks, below the home folder
export const variables = {
  ANTHROPIC_API_KEY: 'none',
  CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
  DISABLE_AUTOUPDATER: '1',
};

export function command(packages) {
  return join(packages, '@anthropic-ai', `claude-code-linux-${process.arch}`, 'claude');
}

// configure writes the files of a person with earlier sessions in this workspace.
export function configure(where, model) {
  where.env.ANTHROPIC_BASE_URL = model;
  where.env.CLAUDE_CODE_TMPDIR = join(where.home, 'tmp');
  write(where.home, '.claude.json', {
    hasCompletedOnboarding: true,
    customApiKeyResponses: { approved: [variables.ANTHROPIC_API_KEY] },
    projects: { [where.workspace]: { hasTrustDialogAccepted: true } },
  });
  write(where.home, '.claude/settings.json', { permissions: { allow: ['Bash', 'Write', 'Agent', 'Skill', 'mcp__planloop'] } });
}

// rules are settings by which the user refuses calls.
export const rules = (rule) => ({ permissions: { deny: [rule] } });

export const session = (prompt) => ['-p', prompt];

export const says = {
  write: (path, content) => ({ tool: 'Write', args: { file_path: path, content } }),
  shell: (command) => ({ tool: 'Bash', args: { command, description: 'Run it' } }),
  read: (path) => ({ tool: 'Read', args: { file_path: path } }),
  spawn: (prompt) => ({ tool: 'Agent', args: { description: 'Look around', prompt, subagent_type: 'general-purpose', run_in_background: false } }),
  skill: (name) => ({ tool: 'Skill', args: { skill: name } }),
  own: (tool, args) => ({ tool: `mcp__planloop__${tool}`, args }),
};
