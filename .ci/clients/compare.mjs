// The comparison of an agent's work with and without planloop runs to its end, with Claude Code and a scripted model. The tasks are two
// exercises in the form of Exercism's. Without planloop, the model solves one of them.
//
//   node compare.mjs PROGRAM CLIENTS HOSTS FOLDER
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';

import * as claude from './hosts/claude.mjs';
import { write } from './hosts/files.mjs';
import { Model } from './model.mjs';
import { Running } from './process.mjs';

const [, , packages, folder] = process.argv.slice(2);
const names = ['one', 'two'];

function exercises() {
  const source = join(folder, 'source');
  for (const name of names) {
    const below = (path) => `exercises/practice/${name}/${path}`;
    write(source, below('.meta/config.json'), { files: { solution: [`${name}.go`], test: [`${name}_test.go`] } });
    write(source, below('.docs/instructions.md'), `# Name\n\nReturn "${name}".\n`);
    write(source, below('go.mod'), `module ${name}\n\ngo 1.18\n`);
    write(source, below(`${name}.go`), `package ${name}\n\nfunc Name() string { panic("write it") }\n`);
    write(source, below(`${name}_test.go`), `package ${name}\n\nimport "testing"\n\nfunc TestName(t *testing.T) {\n\tif Name() != "${name}" {\n\t\tt.Fail()\n\t}\n}\n`);
  }
  const git = (...args) => execFileSync('git', ['-C', source, ...args], { encoding: 'utf8' }).trim();
  git('init', '--quiet');
  git('add', '.');
  git('-c', 'user.name=ci', '-c', 'user.email=ci@example.org', 'commit', '--quiet', '--message', 'Exercises');
  return { source, commit: git('rev-parse', 'HEAD') };
}

// turns are the model's answers in one run.
function turns(withPlanloop) {
  const solve = (name, tokens) => ({ ...claude.says.shell(`echo 'package ${name}; func Name() string { return "${name}" }' > ${name}/${name}.go`), tokens });
  if (!withPlanloop) return [solve('one', 1), { text: 'I forgot the other one.' }];
  const plan = { objective: 'Solve the exercises', initial_steps: names.map((title) => ({ title })) };
  return [claude.says.own('planning_setup_plan', plan), solve('one', 60000), solve('two', 1), { text: 'Both are solved.' }]; // compacted after the first
}

const left = new Map();
const model = await Model.listen((asked) => {
  if (asked.tools.length === 0) return { text: 'A title' };
  if (/detailed summary of (the|this) conversation/.test(asked.prompts.at(-1))) return { text: '<summary>One is solved.</summary>' };
  if (!left.has(asked.session)) left.set(asked.session, turns(asked.prompts.some((text) => text.includes('with planloop'))));
  return left.get(asked.session).shift() ?? { text: 'Done.' };
});
mkdirSync(folder, { recursive: true });
const { source, commit } = exercises();
const args = ['-C', 'bench', 'run', './agents', '-source', source, '-commit', commit, '-claude', claude.command(packages), '-exercises', names.join(), '-rounds', '1'];
const running = new Running('go', args, { env: { ...process.env, ANTHROPIC_API_KEY: 'none', ANTHROPIC_BASE_URL: model.origin } });
try {
  assert.equal(await running.status(600), 0, running.errors);
  console.log(running.output);
  assert.match(running.output, /^\| without, 1 \| 1 of 2 \| 1 \| 2 \| 0 \| 0 \|/m);
  assert.match(running.output, /^\| with planloop, 1 \| 2 of 2 \| 0 \| \d+ \| 1 \| 1 \|/m);
} finally {
  running.kill();
  model.close();
}
