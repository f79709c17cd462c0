// opencode, a host of agents, works by a plan with a scripted model in it.
//
//   node agents.mjs PROGRAM PACKAGES FOLDER
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { join } from 'node:path';

import { Model } from './model.mjs';
import * as opencode from './opencode.mjs';
import { place, planloop } from './process.mjs';

const [program, packages, folder] = process.argv.slice(2);

const where = place(program, folder);
const model = await Model.listen(({ turn }) => replies[turn]);
const replies = [
  { tool: 'planloop_planning_mark_step', args: { step_id: 'S001', status: 'done', note: 'It is written' } },
  { text: 'I have marked it.\nThat was all.' },
];
try {
  const config = join(folder, 'config');
  opencode.configure(config, { model: model.url, planloop: [program, 'serve'] });
  assert.equal(await planloop(where, 'setup', 'Try an agent', '--step', 'Write a word').status(), 0);

  const [file, ...args] = opencode.command(packages);
  const agent = spawn(file, args, { cwd: where.workspace, env: { ...where.env, XDG_CONFIG_HOME: config, ...opencode.variables }, stdio: ['pipe', 'pipe', 'inherit'] });
  agent.stdin.end('S001\nDo the step.\n');
  const [output, [status]] = await Promise.all([text(agent.stdout), once(agent, 'close')]);
  assert.equal(status, 0);
  assert.match(output, /I have marked it\.\nThat was all\.\n$/);

  assert.deepEqual(model.requests.map((request) => request.prompts), [['S001\nDo the step.\n'], ['S001\nDo the step.\n']]);
  const show = planloop(where, 'show', 'S001', '--json');
  assert.equal(await show.status(), 0, show.errors);
  assert.equal(JSON.parse(show.output).status, 'done', show.output);
} finally {
  model.close();
}
