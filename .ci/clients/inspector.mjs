// The MCP Inspector's command line: one process, and one connection, for each call.
import assert from 'node:assert/strict';

import { run } from './process.mjs';

// The Inspector's exit code if a tool's result has isError set.
const toolIsError = 5;

export class Inspector {
  #command;
  #where;
  #target;

  // target holds the Inspector's options for reaching the server.
  constructor(command, where, target) {
    this.#command = command;
    this.#where = where;
    this.#target = target;
  }

  // A stdio server gets a home, a state folder and the agent's name through the Inspector, which does not pass on the rest of its own
  // environment. The name makes one session of its many connections.
  static stdio(command, where, era) {
    const { workspace, home, state, program } = where;
    return new Inspector(command, where, {
      options: ['--protocol-era', era, '--transport', 'stdio', '--cwd', workspace, '-e', `HOME=${home}`, '-e', `XDG_STATE_HOME=${state}`,
        '-e', 'PLANLOOP_AGENT=inspector'],
      server: ['--', program, 'serve'],
    });
  }

  static url(command, where, era, transport, url) {
    return new Inspector(command, where, {
      options: ['--protocol-era', era, '--transport', transport, '--server-url', url],
      server: [],
    });
  }

  // request returns the result of a method.
  async request(method, ...options) {
    const { status, output, errors } = await this.#run(method, options);
    assert.equal(status, 0, `${method} ${options.join(' ')}: exit status ${status}\n${output}${errors}`);
    return JSON.parse(output).result;
  }

  // refused returns the error for a method.
  async refused(method, ...options) {
    const { status, output, errors } = await this.#run(method, options);
    assert.notEqual(status, 0, `${method} ${options.join(' ')} was not refused: ${output}`);
    return JSON.parse(errors).error;
  }

  // call calls a tool and returns the structured content, after checking that the text matches it.
  async call(tool, input = {}) {
    const result = await this.request('tools/call', '--tool-name', tool, '--tool-args-json', JSON.stringify(input));
    assert.ok(!result.isError, `${tool}: ${JSON.stringify(result)}`);
    const { next_action: next } = result.structuredContent;
    assert.ok(next, `${tool} does not say what comes next: ${JSON.stringify(result)}`);
    assert.ok(textOf(result).includes(next), `the text of ${tool} leaves out ${next}: ${textOf(result)}`);
    return result.structuredContent;
  }

  // callInVain calls a tool that must answer with isError, and returns its text.
  async callInVain(tool, input) {
    const { status, output, errors } = await this.#run('tools/call', ['--tool-name', tool, '--tool-args-json', JSON.stringify(input)]);
    assert.equal(status, toolIsError, `${tool} ${JSON.stringify(input)}: exit status ${status}\n${output}${errors}`);
    const { result } = JSON.parse(output);
    assert.equal(result.isError, true);
    return textOf(result);
  }

  #run(method, options) {
    const args = [this.#command, '--cli', '--format', 'json', '--quiet', ...this.#target.options, '--method', method, ...options, ...this.#target.server];
    const env = { ...this.#where.env, NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE };
    return run(process.execPath, args, { cwd: this.#where.workspace, env });
  }
}

function textOf(result) {
  return result.content.map((part) => part.text).join('\n');
}
