// A program on a pseudo-terminal: tests read its screen and type keys.
import { connect } from 'node:net';
import { createInterface } from 'node:readline';

import { within } from './process.mjs';

// Terminal is a program that sees a person's terminal, opened by the program of terminals.mjs. It answers the program's queries to the terminal.
export class Terminal {
  #terminals;
  #ended;
  #waiting = new Set();
  #seen = 0;
  #raw = '';
  output = ''; // without the codes that control a terminal: a space replaces those that move the cursor

  constructor([command, ...args], options) {
    this.name = args.join(' ');
    this.#terminals = connect(process.env.PLANLOOP_CI_TERMINALS);
    this.#say({ command, args, options: { name: 'xterm-256color', cols: 120, rows: 40, ...options } }); // the name becomes TERM
    this.#ended = new Promise((resolve) => {
      createInterface({ input: this.#terminals }).on('line', (line) => {
        const { data, exitCode } = JSON.parse(line);
        if (data) this.#hear(data);
        if (exitCode === undefined) return;
        this.#terminals.end();
        resolve(exitCode);
      });
    });
    this.#terminals.on('error', () => {}); // it has ended
  }

  // until waits for a pattern in the output since the last match.
  until(wanted) {
    const story = () => `${this.name} has not shown ${wanted}; it showed:\n${this.output}`;
    const seen = new Promise((resolve, reject) => {
      const look = (over) => {
        const found = wanted.exec(this.output.slice(this.#seen));
        if (found) {
          this.#seen += found.index + found[0].length;
          resolve(found);
        } else if (over) reject(new Error(`${story()}\nand ended`));
        return found || over;
      };
      if (!look(false)) this.#waiting.add(look);
      this.#ended.then(() => look(true));
    });
    return within(seen, story);
  }

  type(keys) {
    this.#say({ write: keys });
  }

  // press types keys until the program shows that it took them, or ends if no reaction is wanted: at first it may not listen yet.
  async press(keys, wanted) {
    this.type(keys);
    const again = setInterval(() => this.type(keys), 500);
    try {
      return await (wanted ? this.until(wanted) : this.status());
    } finally {
      clearInterval(again);
    }
  }

  // status waits for the end and returns the exit code.
  status() {
    return within(this.#ended, () => `${this.name} has not ended; it showed:\n${this.output}`);
  }

  kill() {
    this.#say({ kill: 'SIGKILL' });
  }

  #say(message) {
    if (this.#terminals.writable) this.#terminals.write(`${JSON.stringify(message)}\n`);
  }

  #hear(text) {
    if (text.includes('\x1b[6n')) this.type('\x1b[1;1R'); // where is the cursor?
    if (text.includes('\x1b[c')) this.type('\x1b[?62;c'); // what are you?
    this.#raw += text;
    this.output = this.#raw.replace(/\x1b\][^\x07\x1b]*(\x07|\x1b\\)|\x1b\[[0-9;:]*m/g, '').replace(/\x1b\[[0-9;:?<>=]*[ -/]*[@-~]/g, ' ');
    for (const look of [...this.#waiting]) if (look(false)) this.#waiting.delete(look);
  }
}
