// opencode as an agent: its model, and the settings that keep it on this machine.
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

// command starts opencode for one answer to its standard input. The title saves a request to the model. Permissions must be denied: where
// opencode cannot ask a person, it ends.
export function command(packages) {
  const folder = readdirSync(packages).find((name) => name.startsWith('opencode-linux-'));
  if (!folder) throw new Error(`npm has no opencode for this machine among ${packages}`);
  return [join(packages, folder, 'bin', 'opencode'), 'run', '--title', 'planloop'];
}

// variables are settings that its configuration cannot express: without this one it fetches a list of models.
export const variables = { OPENCODE_DISABLE_MODELS_FETCH: '1' };

// configure writes its configuration below the folder in XDG_CONFIG_HOME, with planloop as an MCP server if its command is given.
export function configure(folder, { model, planloop }) {
  const own = join(folder, 'opencode');
  mkdirSync(join(own, 'node_modules'), { recursive: true });
  const write = (name, value) => writeFileSync(join(own, name), JSON.stringify(value, null, 2));
  write('opencode.json', {
    model: 'scripted/scripted',
    enabled_providers: ['scripted'],
    provider: {
      scripted: {
        npm: '@ai-sdk/openai-compatible', // bundled with it
        options: { baseURL: model, apiKey: 'none' },
        models: { scripted: { limit: { context: 200_000, output: 8_000 } } },
      },
    },
    ...(planloop && { mcp: { planloop: { type: 'local', command: planloop } } }),
    permission: { external_directory: 'deny', doom_loop: 'deny' },
    autoupdate: false,
    share: 'disabled',
    snapshot: false,
  });
  // It assumes that its library for plugins is installed, and so does not install it.
  write('package-lock.json', { packages: { '': { dependencies: { '@opencode-ai/plugin': '*' } } } });
}
