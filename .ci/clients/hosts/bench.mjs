// A place for hosts of agents: a workspace with a repository, a home, and a copy of planloop.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { place, planloop } from '../process.mjs';
import { Terminal } from '../terminal.mjs';

export class Bench {
  constructor(program, own) {
    Object.assign(this, place(program, own));
    this.program = join(own, 'planloop'); // a separate copy, because the tests tamper with it
    linkSync(program, this.program);
    rmSync(join(this.workspace, '.git'), { recursive: true });
    execFileSync('git', ['init', '--quiet'], { cwd: this.workspace, env: this.env });
    writeFileSync(join(this.workspace, 'kept.txt'), 'kept\n');
  }

  // done runs planloop, which must succeed, and returns its output.
  async done(...args) {
    const running = planloop(this, ...args);
    const status = await running.status();
    assert.equal(status, 0, `${running.name}: exit status ${status}\n${running.output}${running.errors}`);
    return running.output;
  }

  wrote(name) {
    const path = join(this.workspace, name);
    return existsSync(path) && readFileSync(path, 'utf8');
  }

  // approve has a person approve the plan in a terminal, and returns what it shows.
  approve(...options) {
    return this.#decide([...options, 'approve'], async (terminal) => {
      const [, code] = await terminal.until(/To approve it, type (\d+) and Enter/);
      terminal.type(`${code}\r`);
    });
  }

  // cancel has a person end planning mode in a terminal.
  cancel() {
    return this.#decide(['plan', 'cancel']);
  }

  async #decide(args, type) {
    const terminal = new Terminal([this.program, ...args], { cwd: this.workspace, env: this.env, rows: 80 });
    try {
      await type?.(terminal);
      assert.equal(await terminal.status(), 0, terminal.output);
      return terminal.output;
    } finally {
      terminal.kill();
    }
  }
}
