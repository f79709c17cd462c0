// A browser with a person, and agents.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

import { within } from '../process.mjs';
import { Terminal } from '../terminal.mjs';

// Browser is Debian's Chromium without a window. The pages' log messages and requests are recorded.
export class Browser {
  static async start(packages, chromium, more = []) {
    const { chromium: driver } = createRequire(join(packages, 'x.js'))('playwright-core');
    const started = await driver.launch({ executablePath: chromium, args: ['--no-sandbox', '--disable-dev-shm-usage', ...more] });
    return new Browser(started);
  }

  constructor(started) {
    this.started = started;
  }

  // person opens a separate browser for a person: cookies, storage and windows are not shared.
  async person(options = {}) {
    const context = await this.started.newContext({ viewport: { width: 1280, height: 800 }, reducedMotion: 'reduce', ...options });
    return new Person(context);
  }

  stop() {
    return this.started.close();
  }
}

// Person visits pages. Every error message of a page is a failure, unless it was expected.
export class Person {
  complaints = [];
  asked = []; // addresses

  constructor(context) {
    this.context = context;
    context.setDefaultTimeout(120_000); // for a busy machine
    context.on('console', (message) => {
      if (message.type() === 'error') this.complaints.push(message.text());
    });
    context.on('weberror', (fault) => this.complaints.push(String(fault.error())));
    context.on('request', (request) => this.asked.push(request.url()));
  }

  async open(address) {
    const page = await this.context.newPage();
    await page.goto(address);
    return page;
  }

  close() {
    return this.context.close();
  }
}

// Review is `planloop review` on a pseudo-terminal, as a person starts it.
export class Review {
  static async start(packages, where, ...options) {
    const review = new Review(packages, where, options);
    try {
      await review.link();
    } catch (fault) {
      review.kill();
      throw fault;
    }
    return review;
  }

  constructor(packages, where, options) {
    this.terminal = new Terminal([where.program, 'review', '--no-open', ...options], { cwd: where.workspace, env: where.env });
    this.links = 0;
  }

  // link returns a new one-time link.
  async link() {
    if (this.links++ > 0) this.terminal.type('\r');
    const [link, origin] = await this.terminal.until(/(http:\/\/[\w.]+:\d+)\/#enter=[\w-]+/);
    this.origin = origin;
    return link;
  }

  // code returns the code that the page asks for.
  async code() {
    const [, code] = await this.terminal.until(/\b(\d{6})\b/);
    return code;
  }

  // unlock types the code: the first act of a page asks for it.
  async unlock(page) {
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Six-digit code').fill(await this.code());
    await dialog.getByRole('button', { name: 'Continue' }).click();
    await dialog.waitFor({ state: 'detached' });
  }

  async stop() {
    this.terminal.type('\x03');
    return this.terminal.status();
  }

  kill() {
    this.terminal.kill();
  }
}

// Agent is an MCP client with its own `planloop serve`.
export class Agent {
  // apart starts an agent whose host is a process of its own: planning mode of one does not hold the other.
  static apart(packages, where, name) {
    const host = `const { spawn } = require('node:child_process');
      spawn(process.argv[1], ['serve'], { stdio: 'inherit' }).on('exit', (status) => process.exit(status))`;
    return Agent.start(packages, where, name, {}, [process.execPath, '-e', host, where.program]);
  }

  static async start(packages, where, name = 'agent', capabilities = {}, [command, ...args] = [where.program, 'serve']) {
    const require = createRequire(join(packages, 'x.js'));
    const { Client } = await import(require.resolve('@modelcontextprotocol/client'));
    const { StdioClientTransport } = await import(require.resolve('@modelcontextprotocol/client/stdio'));
    const client = new Client({ name, version: '1' }, { capabilities });
    await client.connect(new StdioClientTransport({ command, args, cwd: where.workspace, env: where.env, stderr: 'ignore' }));
    return new Agent(client);
  }

  constructor(client) {
    this.client = client;
  }

  // call returns the structured content of a tool's result. A refusal is thrown.
  async call(name, args = {}) {
    const result = await within(this.client.callTool({ name, arguments: args }, { timeout: 120_000 }), () => `${name} has not answered`, 120);
    if (result.isError) throw new Error(result.content.map((part) => part.text).join('\n'));
    return result.structuredContent;
  }

  stop() {
    return this.client.close();
  }
}

// accessible has axe-core judge the page, in light and in dark.
export async function accessible(packages, page, what) {
  const axe = readFileSync(createRequire(join(packages, 'x.js')).resolve('axe-core/axe.min.js'), 'utf8');
  for (const colorScheme of ['dark', 'light']) {
    await page.emulateMedia({ colorScheme });
    const found = await page.evaluate(async (source) => {
      if (!window.axe) (0, window.eval)(source);
      const { violations } = await window.axe.run(document, { resultTypes: ['violations'] });
      return violations.map((v) => `${v.id}: ${v.help}: ${v.nodes.map((n) => n.target.join(' ')).join(', ')}`);
    }, axe).catch((fault) => [String(fault)]);
    assert.deepEqual(found, [], `axe finds nothing in ${what}, ${colorScheme}`);
  }
}
