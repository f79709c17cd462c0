// What the stories of hosts' own plan modes share: plans, a host on a terminal whose model is scripted, and a person's commands.
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

import { Bench } from './hosts/bench.mjs';
import { run } from './process.mjs';
import { Terminal } from './terminal.mjs';

export const first = `# Greet by name

The program greets nobody yet.

## Steps

1. Add the flag --name
   It takes a text.
2. Print the greeting

## Verification

Run it.
`;
export const second = first.replace('2. Print the greeting', '2. Print the greeting with the name');

export async function eventually(holds, story) {
  for (let left = 600; !(await holds()); left--) {
    if (left === 0) throw new Error(story());
    await sleep(100);
  }
}

// Talk is one session of a host. turns are functions of what the model was asked; each returns the model's next answer.
export class Talk {
  asked = [];

  constructor(bench, command, turns) {
    this.turns = [...turns];
    bench.talk = this;
    this.terminal = new Terminal(command, { cwd: bench.workspace, env: bench.env });
  }

  // say has the user type a text once the host shows that it listens.
  async say(text, listens = /\? for shortcuts|shift\+tab to cycle/, works = /esc to interrupt/) {
    await this.terminal.until(listens);
    this.terminal.type(text);
    await this.terminal.press('\r', works);
  }

  next(request) {
    if (request.tools.length === 0 || /single-line task title/.test(request.prompts.at(-1))) return { text: 'A title' };
    const now = `${request.turn} ${request.results.length} ${request.prompts.length}`;
    if (now !== this.now) { // else a slow answer is asked for again
      this.now = now;
      this.asked.push(request);
      this.answer = this.turns.shift()?.(request) ?? { text: 'Done.' };
    }
    return this.answer;
  }

  // told waits for the nth request to the model, and returns the result and the texts in it that are new.
  async told(n) {
    await eventually(() => this.asked.length > n, () => `the model was asked ${this.asked.length} times, not ${n + 1}; the terminal shows\n${this.terminal.output}`);
    const { results, prompts, system } = this.asked[n];
    return `${results.at(-1)}\n${prompts.slice(this.asked[n - 1]?.prompts.length ?? 0).join('\n')}\n${system}`;
  }
}

// PlanStage is the place of one host.
export class PlanStage extends Bench {
  constructor(program, folder, host, model) {
    super(program, folder);
    Object.assign(this.env, host.variables);
    host.configure(this, model.origin);
  }

  async status() {
    return JSON.parse(await this.done('status', '--json'));
  }

  phase(wanted) {
    return eventually(async () => ((await this.status()).phase ?? 'inactive') === wanted, () => `the phase is not ${wanted}; the terminal shows\n${this.talk.terminal.output}`);
  }

  // waits waits until a plan with a text is to be decided.
  waits(text) {
    const draft = () => run(this.program, ['show', '--draft'], { cwd: this.workspace, env: this.env });
    const holds = ({ output, errors }) => text.test(output + errors);
    return eventually(async () => holds(await draft()), () => `no plan waits with ${text}; the terminal shows\n${this.talk.terminal.output}`);
  }

  // person runs a command in a terminal of its own.
  async person(...args) {
    const terminal = new Terminal([this.program, ...args], { cwd: this.workspace, env: this.env });
    const status = await terminal.status();
    return { status, output: terminal.output };
  }

  // hooks lists the processes of planloop's hooks that wait.
  hooks(host) {
    return readdirSync('/proc').filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8').startsWith(`${this.program}\0hook\0${host}\0`);
      } catch {
        return false; // it has ended, or is no process
      }
    });
  }
}
