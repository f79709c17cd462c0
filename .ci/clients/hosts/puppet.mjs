// Agents of hosts, whose models say what the test decides turn by turn. Several can be at work at the same time.
import { within } from '../process.mjs';

const patience = 60; // seconds that a host may take for one turn

// Puppets are the agents of one scripted model. A prompt names its agent in double brackets.
export class Puppets {
  #agents = {};

  constructor(log) {
    this.log = log;
  }

  // agent returns the agent of that name, which speaks as a host's models do.
  agent(name, says) {
    return (this.#agents[name] ??= new Puppet(name, says, this.log));
  }

  // answer is the model's script.
  answer(asked) {
    const last = asked.prompts.at(-1) ?? '';
    const name = asked.prompts.join('\n').match(/\[\[\w+\]\]/g)?.at(-1);
    if (asked.tools.length === 0 || !name) return { text: 'A title' }; // a request outside the conversation
    if (/detailed summary of (the|this) conversation/.test(last)) return { text: `<summary>We have worked. ${name}</summary>` };
    return this.#agents[name.slice(2, -2)].hear(asked);
  }
}

class Puppet {
  #asked = []; // requests of the host to the model that are not answered
  #wake = () => {};

  constructor(name, says, log) {
    Object.assign(this, { name, says, log });
  }

  hear(request) {
    return new Promise((answer) => {
      this.#asked.push({ request, answer });
      this.#wake();
    });
  }

  // does has the agent call a tool, and returns the result.
  does(turn) {
    return this.during(turn, () => {});
  }

  // during is does with something that happens before the result is there.
  async during({ tool, args }, play) {
    await this.#say({ tool, args });
    await play();
    const result = (await this.#next()).request.results.at(-1) ?? '';
    this.log(`${this.name}: ${tool} ${JSON.stringify(args)}\n  ${result.replaceAll('\n', '\n  ')}`);
    return result;
  }

  // calls has the agent call one of planloop's tools.
  calls(tool, args = {}) {
    return this.does(this.says.own(tool, args));
  }

  // ends has the agent end its turn.
  async ends(text = 'Done.') {
    await this.#say({ text });
  }

  // begins waits until the host asks the model, and returns what the model is told.
  async begins() {
    return (await this.#next()).request;
  }

  async #say(turn) {
    const { answer } = await this.#next();
    this.#asked.shift();
    answer(turn);
  }

  async #next() {
    const came = new Promise((resolve) => {
      this.#wake = () => this.#asked.length > 0 && resolve();
      this.#wake();
    });
    await within(came, () => `the host of ${this.name} does not ask its model\n${this.story?.() ?? ''}`, patience);
    return this.#asked[0];
  }
}
