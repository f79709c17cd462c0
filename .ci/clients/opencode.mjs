// opencode as an agent: which model it asks, and what keeps it to this machine.
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

// command is how opencode is started for one answer to what comes on standard input. The
// title spares a request to the model. What it would ask a person for must be denied:
// where it cannot ask, it ends.
export function command(packages) {
  const folder = readdirSync(packages).find((name) => name.startsWith('opencode-linux-'));
  if (!folder) throw new Error(`npm has no opencode for this machine among ${packages}`);
  return [join(packages, folder, 'bin', 'opencode'), 'run', '--title', 'planloop'];
}

// variables are those of its environment that its configuration cannot stand for: without
// this it fetches a list of models.
export const variables = { OPENCODE_DISABLE_MODELS_FETCH: '1' };

// configure writes its configuration below a folder that XDG_CONFIG_HOME names, with planloop as
// an MCP server where its command is given.
export function configure(folder, { model, planloop }) {
  const own = join(folder, 'opencode');
  mkdirSync(join(own, 'node_modules'), { recursive: true });
  const write = (name, value) => writeFileSync(join(own, name), JSON.stringify(value, null, 2));
  write('opencode.json', {
    model: 'scripted/scripted',
    enabled_providers: ['scripted'],
    provider: {
      scripted: {
        npm: '@ai-sdk/openai-compatible', // comes with it
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
  // It believes its library for plugins to be installed, and so does not install it.
  write('package-lock.json', { packages: { '': { dependencies: { '@opencode-ai/plugin': '*' } } } });
}
