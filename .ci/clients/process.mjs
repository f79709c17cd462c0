// Processes of the program under test: each in its own place, each ended by its starter.
import { spawn } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';

// The limit in seconds for immediate results; the machine may be busy.
const patience = 60;

// place makes an empty workspace, with a state folder and a home next to it.
export function place(program, folder) {
  const workspace = join(folder, 'workspace');
  const home = join(folder, 'home');
  const state = join(folder, 'state');
  mkdirSync(join(workspace, '.git'), { recursive: true }); // the top of a work tree
  mkdirSync(home, { recursive: true });
  mkdirSync(state, { recursive: true });
  const env = { PATH: process.env.PATH, LC_ALL: process.env.LC_ALL, HOME: home, XDG_STATE_HOME: state };
  return { program, workspace, home, state, env };
}

// Running is a started process with its output.
export class Running {
  #child;
  #stopped;
  #waiting = new Set();
  #seen = 0; // how much of the output earlier waits have consumed
  output = '';
  errors = '';

  constructor(command, args, options) {
    this.name = args.join(' ');
    this.#child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], ...options });
    this.#child.stdout.setEncoding('utf8').on('data', (text) => this.#hear('output', text));
    this.#child.stderr.setEncoding('utf8').on('data', (text) => this.#hear('errors', text));
    this.#stopped = new Promise((resolve, reject) => {
      this.#child.on('error', reject);
      this.#child.on('close', (code, signal) => resolve(code ?? signal));
    });
    this.#stopped.then(() => this.#wake(), () => this.#wake());
  }

  // write sends a text to the process, if its standard input is a pipe; without a text it closes that.
  write(text) {
    if (text) this.#child.stdin.write(text);
    else this.#child.stdin.end();
  }

  // status waits for the end and returns the exit code, or the signal's name.
  status(seconds) {
    return within(this.#stopped, () => `${this.name} has not ended; it printed:\n${this.output}\n${this.errors}`, seconds);
  }

  // stop asks the process to end, and returns its status.
  stop(signal = 'SIGTERM') {
    this.#child.kill(signal);
    return this.status();
  }

  // kill ends the process in any state.
  kill() {
    this.#child.kill('SIGKILL');
  }

  // until waits for a text or a pattern in the output since the last wait.
  async until(wanted, stream = 'output') {
    const found = () => {
      const rest = this[stream].slice(stream === 'output' ? this.#seen : 0);
      const match = wanted instanceof RegExp ? wanted.exec(rest) : rest.includes(wanted) && [wanted];
      if (match && stream === 'output') this.#seen = this.output.length;
      return match;
    };
    const story = () => `${this.name} has not printed ${wanted}; it printed:\n${this.output}\n${this.errors}`;
    const heard = new Promise((resolve, reject) => {
      const look = (over) => {
        const match = found();
        if (match) resolve(match);
        else if (over) reject(new Error(`${story()}\nand ended`));
        return match || over;
      };
      if (look(false)) return;
      const listener = (over) => look(over) && this.#waiting.delete(listener);
      this.#waiting.add(listener);
      this.#stopped.finally(() => listener(true)).catch(() => {});
    });
    return within(heard, story);
  }

  #hear(stream, text) {
    this[stream] += text;
    this.#wake();
  }

  #wake() {
    for (const listener of [...this.#waiting]) listener(false);
  }
}

// run starts a command, waits for its end and returns the outcome.
export async function run(command, args, options) {
  const running = new Running(command, args, options);
  try {
    const status = await running.status();
    return { status, output: running.output, errors: running.errors };
  } finally {
    running.kill();
  }
}

// planloop starts the program in a place.
export function planloop(where, ...args) {
  return new Running(where.program, args, { cwd: where.workspace, env: where.env });
}

// serveHTTP starts the program as an HTTP server on a port that the system picks.
export async function serveHTTP(where, ...options) {
  const server = planloop(where, 'serve', '--http', '127.0.0.1:0', ...options);
  try {
    const [, origin] = await server.until(/(http:\/\/127\.0\.0\.1:\d+)\/mcp/, 'errors');
    return { server, origin };
  } catch (error) {
    server.kill();
    throw error;
  }
}

// within waits for a promise, for a limited time.
export async function within(promise, story, seconds = patience) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`after ${seconds}s: ${story()}`)), seconds * 1000);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
