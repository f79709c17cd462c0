// The requests of agents' hosts to a model and the answers, in the hosts' four dialects: each reads a request as { session, system,
// prompts, results, turn, tools }, and answers { text } or { tool, args }.
const streaming = { 'content-type': 'text/event-stream' };

// chat is OpenAI's chat completions: opencode, and most others.
const chat = {
  path: /^\/v1\/chat\/completions$/,
  heard({ messages, tools = [] }, headers) {
    const said = (role) => messages.filter((message) => message.role === role).map((message) => textOf(message.content));
    return {
      session: headers['x-session-id'],
      system: said('system').join('\n'),
      prompts: said('user'),
      results: said('tool'),
      turn: said('assistant').length,
      tools: tools.map((tool) => tool.function.name),
    };
  },
  say(response, { text, tool, args }, number) {
    const delta = { role: 'assistant', content: text ?? null };
    if (tool) delta.tool_calls = [{ index: 0, id: `call_${number}`, type: 'function', function: { name: tool, arguments: JSON.stringify(args) } }];
    const chunk = (choices, more) => {
      const event = { id: `reply_${number}`, object: 'chat.completion.chunk', created: number, model: 'scripted', choices, ...more };
      response.write(`data: ${JSON.stringify(event)}\n\n`);
    };
    response.writeHead(200, streaming);
    chunk([{ index: 0, delta, finish_reason: null }]);
    chunk([{ index: 0, delta: {}, finish_reason: tool ? 'tool_calls' : 'stop' }]);
    chunk([], { usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 } });
    response.end('data: [DONE]\n\n');
  },
};

// messages is Anthropic's: Claude Code.
const messages = {
  path: /^\/v1\/messages(\?|$)/,
  heard({ system = [], messages, tools = [] }, headers) {
    const blocks = (role) =>
      messages.filter((message) => message.role === role).flatMap(({ content }) => (Array.isArray(content) ? content : [{ type: 'text', text: content }]));
    const asked = blocks('user');
    return {
      session: headers['x-claude-code-session-id'],
      system: [textOf(system), ...blocks('system').map(({ text }) => text)].join('\n'),
      prompts: asked.filter(({ type }) => type === 'text').map(({ text }) => text),
      results: asked.filter(({ type }) => type === 'tool_result').map(({ content }) => textOf(content)),
      turn: messages.filter((message) => message.role === 'assistant').length,
      tools: tools.map((tool) => tool.name),
    };
  },
  say(response, { text, tool, args, tokens = 1 }, number, { model, stream: streamed }) {
    const block = tool ? { type: 'tool_use', id: `toolu_${number}`, name: tool, input: args } : { type: 'text', text };
    const stop = { stop_reason: tool ? 'tool_use' : 'end_turn', stop_sequence: null };
    const message = { id: `msg_${number}`, type: 'message', role: 'assistant', model, usage: { input_tokens: tokens, output_tokens: 1 } };
    if (!streamed) {
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ ...message, ...stop, content: [block] }));
      return;
    }
    const event = (type, more) => response.write(`event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`);
    response.writeHead(200, streaming);
    event('message_start', { message: { ...message, content: [], stop_reason: null, stop_sequence: null } });
    event('content_block_start', { index: 0, content_block: tool ? { ...block, input: {} } : { type: 'text', text: '' } });
    event('content_block_delta', { index: 0, delta: tool ? { type: 'input_json_delta', partial_json: JSON.stringify(args) } : { type: 'text_delta', text } });
    event('content_block_stop', { index: 0 });
    event('message_delta', { delta: stop, usage: { output_tokens: 1 } });
    event('message_stop');
    response.end();
  },
};

// responses is OpenAI's newer one: Codex. Some of its tools take a text instead of arguments, and some have a namespace, a prefix of the
// name with a full stop.
const responses = {
  path: /^\/v1\/responses$/,
  heard({ instructions, input, tools = [] }, headers) {
    const offered = [...tools, ...input.flatMap((item) => (item.type === 'additional_tools' ? item.tools : []))];
    const fromAgents = input.filter((item) => item.type === 'agent_message');
    const said = (role) => input.filter((item) => item.type === 'message' && item.role === role).map((item) => textOf(item.content));
    return {
      session: headers['session_id'] ?? headers['session-id'],
      system: [instructions, ...said('developer')].join('\n'),
      prompts: [...said('user'), ...fromAgents.map(({ content }) => content.map((part) => part.text ?? part.encrypted_content).join(''))],
      results: input.filter((item) => /_output$/.test(item.type)).map((item) => textOf(item.output)),
      turn: input.filter((item) => /_call$/.test(item.type) || item.role === 'assistant').length,
      tools: offered.flatMap((tool) => tool.tools?.map((inner) => `${tool.name}.${inner.name}`) ?? tool.name ?? tool.type),
    };
  },
  say(response, { text, tool, args }, number) {
    const [, namespace, name] = /^(?:(.*)\.)?(.*)$/.exec(tool ?? '');
    const call = { id: `fc_${number}`, call_id: `call_${number}`, name, ...(namespace && { namespace }) };
    const item =
      tool && typeof args === 'string'
        ? { type: 'custom_tool_call', ...call, input: args }
        : tool
          ? { type: 'function_call', ...call, arguments: JSON.stringify(args) }
          : { type: 'message', id: `msg_${number}`, role: 'assistant', content: [{ type: 'output_text', text, annotations: [] }] };
    const id = `resp_${number}`;
    const usage = { input_tokens: 1, input_tokens_details: null, output_tokens: 1, output_tokens_details: null, total_tokens: 2 };
    const event = (type, more) => response.write(`event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`);
    response.writeHead(200, streaming);
    event('response.created', { response: { id } });
    event('response.output_item.added', { output_index: 0, item });
    event('response.output_item.done', { output_index: 0, item });
    event('response.completed', { response: { id, usage } });
    response.end();
  },
};

// generate is Google's: Gemini CLI.
const generate = {
  path: /^\/v1beta\/models\/[^:]+:(streamG|g)enerateContent(\?|$)/,
  heard({ systemInstruction, contents, tools = [] }, headers) {
    const parts = contents.flatMap(({ role, parts }) => parts.map((part) => ({ role, ...part })));
    return {
      session: headers['x-session-id'],
      system: textOf(systemInstruction?.parts ?? []),
      prompts: parts.filter((part) => part.role === 'user' && part.text).map((part) => part.text),
      results: parts.filter((part) => part.functionResponse).map(({ functionResponse: { response } }) => response.output ?? response.error ?? JSON.stringify(response)),
      turn: contents.filter((content) => content.role === 'model').length,
      tools: tools.flatMap((tool) => tool.functionDeclarations?.map(({ name }) => name) ?? []),
    };
  },
  say(response, { text, tool, args }, number, body, url) {
    const part = tool ? { functionCall: { id: `call_${number}`, name: tool, args } } : { text };
    const reply = JSON.stringify({
      candidates: [{ index: 0, content: { role: 'model', parts: [part] }, finishReason: 'STOP' }],
      usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 },
      modelVersion: 'scripted',
      responseId: `reply_${number}`,
    });
    const streamed = url.includes('streamGenerateContent');
    response.writeHead(200, streamed ? streaming : { 'content-type': 'application/json' }).end(streamed ? `data: ${reply}\n\n` : reply);
  },
};

export const dialects = [chat, messages, responses, generate];

function textOf(content) {
  if (Array.isArray(content)) return content.map((part) => part.text ?? '').join('');
  return content ?? '';
}
