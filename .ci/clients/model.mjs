// A model that answers by a script: a server on loopback, in the dialects of all hosts.
import { once } from 'node:events';
import { createServer } from 'node:http';

import { dialects } from './dialects.mjs';

// Model stores every request for the next message of a conversation, and sends the script's answer: { text }, or { tool, args }, or
// nothing, which leaves the caller waiting. The script may take its time.
export class Model {
  requests = [];
  #script;
  #server;
  #waiting = new Set();

  static async listen(script) {
    const model = new Model();
    model.#script = script;
    model.#server = createServer((request, response) => model.#serve(request, response));
    model.#server.listen(0, '127.0.0.1');
    await once(model.#server, 'listening');
    model.origin = `http://127.0.0.1:${model.#server.address().port}`;
    model.url = `${model.origin}/v1`;
    return model;
  }

  close() {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  // asked waits for a request that meets the condition, and returns it.
  asked(holds) {
    return new Promise((resolve) => {
      const look = () => {
        const found = this.requests.find(holds);
        if (found) resolve(found);
        return found;
      };
      if (!look()) this.#waiting.add(look);
    });
  }

  async #serve(request, response) {
    let body = '';
    for await (const part of request.setEncoding('utf8')) body += part;
    const dialect = request.method === 'POST' && dialects.find(({ path }) => path.test(request.url));
    if (!dialect) {
      response.writeHead(404).end();
      return;
    }
    const whole = JSON.parse(body);
    const asked = dialect.heard(whole, request.headers);
    const number = this.requests.push(asked);
    for (const look of [...this.#waiting]) if (look()) this.#waiting.delete(look);
    const reply = await this.#script(asked);
    if (reply) dialect.say(response, reply, number, whole, request.url);
  }
}
