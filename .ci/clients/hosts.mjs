// Agents' hosts, each with a scripted model, and planloop as connected by `planloop init` or a plugin: the hooks restrict the host's own
// tools during planning mode, and only then.
//
//   node hosts.mjs PROGRAM CLIENTS HOSTS FOLDER [HOST…]
import assert from 'node:assert/strict';
import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { Bench } from './hosts/bench.mjs';
import * as claude from './hosts/claude.mjs';
import * as codex from './hosts/codex.mjs';
import { contents, tree, write } from './hosts/files.mjs';
import * as gemini from './hosts/gemini.mjs';
import * as opencode from './hosts/opencode.mjs';
import { plugins } from './hosts/plugins.mjs';
import { Model } from './model.mjs';
import { Running, within } from './process.mjs';

const [program, clients, packages, folder, ...named] = process.argv.slice(2);

const order = 'Look around, as a subagent.';
const step = {
  title: 'Write down a word',
  type: 'feature',
  details: 'The word is alpha.',
  context_hints: ['Read `kept.txt`.'],
  relevant_file_paths: ['kept.txt'],
  creates: ['word.txt'],
};
const refusal = /Planning mode is read-only\. Put this into the plan: planning_submit_plan/;

// suites are small projects by the program they need: a file, its text, and the command that tests it. Go takes longest.
const suites = {
  python3: ['test_a.py', 'import unittest\n\nclass A(unittest.TestCase):\n    def test(self): pass\n', 'python3 -m unittest -q'],
  node: ['a.test.js', "require('node:test')('a', () => require('fs').mkdtempSync(require('os').tmpdir() + '/x'));\n", 'node --test'],
  gcc: ['c/a.c', 'int main(void) { return 0; }\n', 'gcc -o "$TMPDIR/a" c/a.c && "$TMPDIR/a" && cp -p c/a.c "$TMPDIR"'],
  go: ['a_test.go', 'package a\n\nimport "testing"\n\nfunc Test(t *testing.T) { t.TempDir() }\n', 'go test .'],
};

// writeSuites writes suite.sh, which tries to change the workspace and runs the suites that this machine can run, and all.sh, which adds Go's.
function writeSuites(bench) {
  const has = (name) => bench.env.PATH.split(':').some((folder) => existsSync(join(folder, name)));
  const runs = Object.entries(suites).filter(([name]) => has(name)).map(([name, [file, text, command]]) => {
    write(bench.workspace, file, text);
    return `{ ${command}; } || exit 1; echo ${name} ran`;
  });
  const begin = 'echo alpha > word.txt; chmod 600 kept.txt; touch kept.txt';
  write(bench.workspace, 'suite.sh', [begin, ...runs.filter((run) => !run.includes('go test')), 'echo $((40 + 2)) passed', ''].join('\n'));
  write(bench.workspace, 'all.sh', [begin, ...runs, 'echo $((40 + 2)) passed', ''].join('\n'));
  write(bench.workspace, 'go.mod', 'module a\n\ngo 1.21\n');
  return tree(bench.workspace);
}

// Talk is one session of a host: the model's answers, turn by turn, and the results it gets. A turn may be a function that computes the
// answer.
class Talk {
  told = []; // results of the tools, by turn
  below = []; // those of a subagent

  constructor(turns, turnsBelow = []) {
    this.left = [...turns];
    this.leftBelow = [...turnsBelow];
    this.looked = new Promise((resolve) => (this.subagentIsDone = resolve));
  }

  async next(asked) {
    if (asked.tools.length === 0) return { text: 'A title' }; // a request outside the conversation
    const [left, told] = asked.prompts.some((text) => text.includes(order)) ? [this.leftBelow, this.below] : [this.left, this.told];
    this.first ??= asked;
    if (asked.results.length > 0) told.push(asked.results.at(-1));
    const turn = left.shift();
    if (left === this.leftBelow && left.length === 0) this.subagentIsDone();
    try {
      return (typeof turn === 'function' ? await turn(this) : turn) ?? { text: 'Done.' };
    } catch (fault) {
      this.fault = fault;
      return { text: 'I give up.' };
    }
  }
}

// Stage is one host in its own place.
class Stage extends Bench {
  constructor(name, host, command, own) {
    super(program, own);
    Object.assign(this, { name, host, command });
    Object.assign(this.env, host.variables);
  }

  async talk(turns, below, seconds = 240) {
    this.talking = new Talk(turns, below);
    const running = new Running(this.command[0], [...this.command.slice(1), ...this.host.session('Do what is to be done.')], { cwd: this.workspace, env: this.env });
    try {
      const status = await running.status(seconds);
      const { told, left, fault } = this.talking;
      this.story = () => `\n${this.name} ended with ${status} and printed:\n${running.output}\n${running.errors}\nits model was told:\n${told.map((text, i) => `${i}: ${text}`).join('\n')}`;
      if (fault) throw new Error(fault.message + this.story(), { cause: fault });
      assert.equal(left.length, 0, `the model was not asked to the end${this.story()}`);
      return this.talking;
    } finally {
      running.kill();
    }
  }
}

// installs checks that planloop leaves no trace when removed.
async function installs(bench) {
  const before = contents(bench.home);
  assert.match(await bench.done('init', bench.name, '--dry-run'), /planloop/);
  assert.deepEqual(contents(bench.home), before, 'a dry run changes nothing');
  await bench.done('init', bench.name);
  const after = contents(bench.home);
  assert.notDeepEqual(after, before);
  await bench.done('init', bench.name);
  assert.deepEqual(contents(bench.home), after, 'a second time changes nothing');
  await bench.done('init', bench.name, '--remove');
  assert.deepEqual(contents(bench.home), before, 'what was there before is there again');
  await bench.done('init', bench.name);
}

// formOf returns the command in the sandbox that a refusal names.
const formOf = (refused) => refused.match(/instead: (.*? confine -- .*?)\. Planning mode is read-only/)?.[1] ?? 'echo no form';

// holds has an agent plan, try forbidden acts, and do them once a person has approved.
async function holds(bench) {
  const { says } = bench.host;
  const file = join(bench.workspace, 'word.txt');
  const secretly = join(bench.workspace, 'below.txt');
  const skills = says.skill ? [says.skill('marked'), says.skill('plain')] : [];
  for (const [name, text] of Object.entries({ marked: `Now: !\`touch ${bench.workspace}/skill.txt\``, plain: 'Read `kept.txt`.' })) {
    for (const parent of ['.claude', '.gemini']) {
      mkdirSync(join(bench.workspace, parent, 'skills', name), { recursive: true });
      writeFileSync(join(bench.workspace, parent, 'skills', name, 'SKILL.md'), `---\nname: ${name}\ndescription: Look at a word\n---\n${text}\n`);
    }
  }
  const before = writeSuites(bench);
  let attested;
  const form = (talk) => says.shell(formOf(talk.told.at(-1)));
  const { told, below } = await bench.talk(
    [
      says.own('planning_enter_plan_mode', { reason: 'To think it over' }),
      says.write(file, 'alpha\n'),
      says.shell(`echo alpha > ${file}`),
      says.read(join(bench.workspace, 'kept.txt')),
      says.shell('cat kept.txt'),
      says.shell('sh suite.sh'), // runs by the command that the refusal names, and its changes are dropped
      form,
      ...skills,
      says.spawn(order),
      async (talk) => {
        if (!refusal.test(talk.told.at(-1))) await within(talk.looked, () => 'the subagent has not looked around');
        attested = JSON.parse(await bench.done('status', '--json')).enforcement;
        return says.own('planning_submit_plan', { summary: 'One word.', steps: [step] });
      },
      async () => {
        assert.deepEqual(tree(bench.workspace), before, 'changed before the plan was approved');
        await bench.approve();
        return says.own('planloop_status', { wait: 50 });
      },
      says.write(file, 'alpha\n'),
      { text: 'The word is written.' },
    ],
    [says.write(secretly, 'alpha\n'), says.shell(`echo alpha > ${secretly}`), { text: 'I have looked around.' }],
  );
  const tested = bench.workspace.includes(' ') ? /no form/ : /42 passed/; // a path with a space could be read as two words
  const checks = [/Entered planning mode/, refusal, refusal, /kept/, /kept/, refusal, tested, ...(says.skill ? [refusal, /Launching skill|kept\.txt/] : [])];
  checks.forEach((wanted, i) => assert.match(told[i], wanted, bench.story()));
  assert.equal(bench.wrote('below.txt'), false, `a subagent wrote${bench.story()}`);
  for (const result of below) assert.match(result, refusal, `to a subagent${bench.story()}`);
  assert.equal(bench.wrote('skill.txt'), false, `a skill wrote${bench.story()}`);
  assert.ok(below.length > 0 || refusal.test(told[checks.length]), `neither a subagent nor a refusal${bench.story()}`);
  assert.deepEqual(attested?.map(({ state }) => state), ['enforced'], JSON.stringify(attested));
  assert.equal(bench.wrote('word.txt'), 'alpha\n', `not written after the plan was approved${bench.story()}`);
}

// resumes checks that a new session learns the state of the plan before its first message. It completes the plan.
async function resumes(bench) {
  const { own } = bench.host.says;
  const mark = (status) => own('planning_mark_step', { step_id: 'S001', status, note: 'word.txt has it' });
  const { first } = await bench.talk([mark('in_progress'), mark('done'), { text: 'The plan is carried out.' }]);
  assert.match(first.system + first.prompts.join('\n'), new RegExp(step.title), bench.story());
}

// rewrites checks that a host that carries out changed calls runs suites in the sandbox without being refused, once it has proved that; and
// that without the proof, with a second hook, or with a rule of the user's the call is refused.
async function rewrites(bench) {
  const { says, rules } = bench.host;
  const suite = says.shell('sh suite.sh');
  const all = { tool: 'Bash', args: { command: 'sh all.sh', timeout: 400_000 } }; // Go builds its library
  const explicit = (talk) => says.shell(formOf(talk.told.find((text) => refusal.test(text))));
  mkdirSync(join(bench.workspace, '.claude'), { recursive: true });
  const before = writeSuites(bench);
  const ran = new RegExp(`${Object.keys(suites).filter((name) => existsSync(join(bench.workspace, suites[name][0]))).join(' ran[^]*')} ran[^]*42 passed[^]*dropped`);
  const enter = says.own('planning_enter_plan_mode', { reason: 'To think it over' });
  const settings = '.claude/settings.local.json';
  const hook = { hooks: { PreToolUse: [{ matcher: 'Bash', hooks: [{ type: 'command', command: 'true' }] }] } };
  const cases = [
    ['a proof', {}, ran],
    ['a proof by Landlock', {}, ran, 'echo 0 > /proc/sys/user/max_user_namespaces && '],
    ['another hook', hook, refusal],
    ['a rule that refuses changed calls', rules('Bash(*--mark*)'), refusal],
    ["the user's rule", rules('Bash(sh suite.sh)'), refusal],
  ];
  const { command } = bench;
  for (const [name, value, wanted, first] of cases) {
    write(bench.workspace, settings, value);
    bench.command = first ? ['unshare', '--user', '--map-root-user', 'sh', '-c', `${first}exec "$@"`, 'sh', ...command] : command;
    const { told } = await bench.talk([enter, suite, explicit, wanted === ran ? all : suite, says.shell('rm kept.txt'), suite], [], 500);
    bench.command = command;
    rmSync(join(bench.workspace, '.claude', 'settings.local.json'));
    [/mode/, refusal, /42 passed|denied/, wanted, refusal, wanted === ran ? /42 passed[^]*dropped/ : refusal].forEach((text, i) => assert.match(told[i], text, `${name}${bench.story()}`));
    assert.deepEqual({ ...tree(bench.workspace), [join(bench.workspace, '.claude')]: before[join(bench.workspace, '.claude')] }, before, name);
    await bench.cancel();
  }
}

// breaks kills each hook for a tool: the host may run that tool or not, but never in planning mode.
async function breaks(bench) {
  const { says } = bench.host;
  const whole = `${bench.program}-whole`;
  renameSync(bench.program, whole);
  writeFileSync(bench.program, killed(whole));
  chmodSync(bench.program, 0o755);
  const free = join(bench.workspace, 'free.txt');
  const held = join(bench.workspace, 'held.txt');
  const { told } = await bench.talk([
    says.write(free, 'alpha\n'),
    says.own('planning_enter_plan_mode', { reason: 'To think it over' }),
    says.write(held, 'alpha\n'),
    says.shell(`echo alpha > ${held}`),
    { text: 'That is all.' },
  ]);
  assert.equal(bench.wrote('free.txt'), 'alpha\n', `outside planning mode${bench.story()}`);
  assert.equal(bench.wrote('held.txt'), false, `in planning mode${bench.story()}`);
  for (const result of told.slice(2, 4)) assert.match(result, /planning mode may be on/, bench.story());
  rmSync(bench.program);
  renameSync(whole, bench.program);
}

// killed is planloop, except that its hooks before tools are killed once they have their input.
function killed(whole) {
  return `#!/bin/sh
case "$1 $3" in
"hook pre-tool-use" | "hook before-tool" | "hook tool-execute-before")
	[ -z "$(cat)" ] || kill -9 $$
	;;
esac
exec '${whole}' "$@"
`;
}

// faults are ways in which hooks before tools stop holding. Each changes their groups in the host's settings, or planloop itself.
const faults = {
  'a matcher': (groups) => groups.forEach((group) => (group.matcher = 'Bash|shell|run_shell_command')),
  'an asynchronous hook': (groups) => groups.forEach(({ hooks }) => hooks.forEach((hook) => (hook.async = true))),
  'a time-out': (groups, bench) => {
    groups.forEach(({ hooks }) => hooks.forEach((hook) => (hook.timeout = bench.name === 'gemini' ? 1000 : 1)));
    renameSync(bench.program, `${bench.program}-whole`);
    writeFileSync(bench.program, `#!/bin/sh\n[ "$1" != hook ] || sleep 4\nexec '${bench.program}-whole' "$@"\n`);
    chmodSync(bench.program, 0o755);
  },
};

// tells checks that planloop never calls a host enforced that then writes, whatever happened to its hooks.
async function tells(bench) {
  const { says } = bench.host;
  const settings = bench.host.settings && join(bench.home, bench.host.settings);
  const before = settings && readFileSync(settings, 'utf8');
  const whole = `${bench.program}-whole`;
  for (const [fault, change] of Object.entries({ ...(settings ? faults : {}), 'a deleted program': undefined })) {
    const file = `${fault.replaceAll(' ', '-')}.txt`;
    let shown;
    if (change) {
      const changed = JSON.parse(before);
      change(changed.hooks.PreToolUse ?? changed.hooks.BeforeTool, bench);
      writeFileSync(settings, JSON.stringify(changed));
    }
    await bench.talk([
      says.own('planning_enter_plan_mode', { reason: 'To think it over' }),
      () => {
        if (!change) renameSync(bench.program, whole);
        return says.write(join(bench.workspace, file), 'alpha\n');
      },
      async () => {
        const run = { ...bench, program: existsSync(whole) ? whole : bench.program, done: bench.done };
        shown = JSON.parse(await run.done('status', '--json')).enforcement.map(({ state }) => state);
        return { text: 'That is all.' };
      },
    ]);
    const wrote = bench.wrote(file);
    assert.ok(shown.length > 0 && !(wrote && shown.includes('enforced')), `${fault}: shown ${shown}, wrote ${wrote}${bench.story()}`);
    if (change) assert.ok(!shown.includes('enforced'), `${fault}: shown ${shown}${bench.story()}`);
    else if (settings) assert.equal(wrote, false, `${fault}: written${bench.story()}`);
    if (existsSync(whole)) renameSync(whole, bench.program);
    if (settings) writeFileSync(settings, before);
    await bench.cancel();
  }
}

// leaves checks that planloop can be removed from files that the host has changed since. Codex keeps its own list of trusted hooks.
async function leaves(bench) {
  const was = contents(bench.home);
  await bench.done('init', bench.name, '--remove');
  const is = contents(bench.home);
  const changed = Object.keys(was).filter((path) => is[path] !== was[path]);
  assert.deepEqual(Object.keys(is).filter((path) => !(path in was)), [], 'files that are new');
  assert.ok(changed.length > 0, 'nothing was taken out');
  for (const path of changed) {
    assert.ok(!is[path]?.includes(bench.program), `${path} still names planloop:\n${is[path]}`);
    const rest = was[path].split('\n');
    for (const line of is[path]?.split('\n') ?? []) {
      const at = rest.findIndex((other) => other === line || other === `${line},`); // the comma before a removed entry
      assert.ok(at >= 0, `${path} was changed in this line:\n${line}\nin\n${was[path]}`);
      rest.splice(0, at + 1);
    }
  }
}

async function story(id, host) {
  const path = host.command(packages, clients);
  if (!path || !existsSync(path)) {
    console.log(`npm has no ${host.title} for this machine`);
    return;
  }
  const began = Date.now();
  const bench = new Stage(id.split(' ')[0], host, path.endsWith('.js') ? [process.execPath, path] : [path], join(folder, id));
  const model = await Model.listen((asked) => bench.talking.next(asked));
  try {
    host.configure(bench, model.origin);
    await (host.installs ?? installs)(bench);
    await host.trust?.(bench, bench.command[0], packages);
    await holds(bench);
    await resumes(bench);
    if (host.rules && !host.installs) await rewrites(bench);
    await breaks(bench);
    await bench.cancel();
    if (!host.installs) await tells(bench);
    if (!host.installs) await leaves(bench); // a plugin is removed by the host
    console.log(`planning mode holds ${host.title} (${Math.round((Date.now() - began) / 1000)}s, ${model.requests.length} requests to the model)`);
  } catch (error) {
    throw new Error(`${host.title}: ${error.message}`, { cause: error });
  } finally {
    model.close();
  }
}

const hosts = { claude, codex, 'codex programs': codex.programs, gemini, opencode };
try {
  for (const id of named.length > 0 ? named : Object.keys(hosts)) await story(id, { ...hosts, ...plugins }[id]);
} catch (error) {
  console.error(error.message);
  console.error((error.cause ?? error).stack.split('\n').filter((line) => line.startsWith('    at ')).join('\n'));
  process.exitCode = 1;
}
