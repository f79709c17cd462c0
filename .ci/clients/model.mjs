// A model that answers by a script: an OpenAI-compatible server on loopback.
import { once } from 'node:events';
import { createServer } from 'node:http';

// Model keeps every request for the next message of a conversation, and sends what the
// script says to it: { text }, or { tool, args }, or nothing, which leaves the one who
// asks waiting.
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
    model.url = `http://127.0.0.1:${model.#server.address().port}/v1`;
    return model;
  }

  close() {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  // asked waits for a request of which the condition holds, and returns it.
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
    if (request.method !== 'POST' || request.url !== '/v1/chat/completions') {
      response.writeHead(404).end();
      return;
    }
    const asked = heard(JSON.parse(body), request.headers);
    this.requests.push(asked);
    for (const look of [...this.#waiting]) if (look()) this.#waiting.delete(look);
    const reply = this.#script(asked);
    if (reply) say(response, reply, this.requests.length);
  }
}

// heard is what scripts and checks go by: the messages as texts, and what the host offers.
function heard({ messages, tools = [] }, headers) {
  const said = (role) => messages.filter((message) => message.role === role).map((message) => textOf(message.content));
  return {
    session: headers['x-session-id'],
    system: said('system').join('\n'),
    prompts: said('user'),
    results: said('tool'),
    turn: said('assistant').length,
    tools: tools.map((tool) => tool.function.name),
  };
}

function textOf(content) {
  if (Array.isArray(content)) return content.map((part) => part.text ?? '').join('');
  return content ?? '';
}

function say(response, { text, tool, args }, number) {
  const delta = { role: 'assistant', content: text ?? null };
  if (tool) delta.tool_calls = [{ index: 0, id: `call_${number}`, type: 'function', function: { name: tool, arguments: JSON.stringify(args) } }];
  const chunk = (choices, more) => {
    const event = { id: `reply_${number}`, object: 'chat.completion.chunk', created: number, model: 'scripted', choices, ...more };
    response.write(`data: ${JSON.stringify(event)}\n\n`);
  };
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  chunk([{ index: 0, delta, finish_reason: null }]);
  chunk([{ index: 0, delta: {}, finish_reason: tool ? 'tool_calls' : 'stop' }]);
  chunk([], { usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 } });
  response.end('data: [DONE]\n\n');
}
