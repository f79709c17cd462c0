// The stage of a team's story: its server, links to it, laptops, and people in browsers.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, utimesSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { basename, join } from 'node:path';

import { Bench } from './hosts/bench.mjs';
import * as claude from './hosts/claude.mjs';
import { run, Running } from './process.mjs';
import { Terminal } from './terminal.mjs';

// Link is a TCP port that forwards to the server while it is connected.
class Link {
  #open = new Set();
  #isDown = false;

  static async to(target) {
    const link = new Link();
    link.listener = createServer((from) => link.#join(from, target()));
    link.listener.listen(0, '127.0.0.1');
    await once(link.listener, 'listening');
    link.address = `https://localhost:${link.listener.address().port}`;
    return link;
  }

  disconnect() {
    this.#isDown = true;
    for (const end of this.#open) end.destroy();
  }

  reconnect() {
    this.#isDown = false;
  }

  #join(from, port) {
    if (this.#isDown) {
      from.destroy();
      return;
    }
    const to = connect(port, '127.0.0.1');
    for (const [end, other] of [[from, to], [to, from]]) {
      this.#open.add(end);
      end.on('error', () => {}).on('close', () => {
        this.#open.delete(end);
        other.destroy();
      });
      end.pipe(other);
    }
  }
}

// TeamServer is planloop-server with its command line for operators.
export class TeamServer {
  static async start(program, folder) {
    const server = new TeamServer();
    server.program = program;
    server.env = { ...process.env, LC_ALL: 'C.UTF-8' };
    const key = join(folder, 'key.pem');
    server.certificate = join(folder, 'cert.pem');
    execFileSync('openssl', ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2', '-subj', '/CN=localhost',
      '-addext', 'subjectAltName=DNS:localhost', '-keyout', key, '-out', server.certificate], { stdio: 'pipe' });
    await server.operate('migrate');
    server.front = await server.link();
    server.running = new Running(program, ['serve', '--listen', '127.0.0.1:0', '--tls-cert', server.certificate, '--tls-key', key,
      '--address', server.front.address], { env: server.env });
    [, server.port] = await server.running.until(/"address":"127\.0\.0\.1:(\d+)"/, 'errors');
    return server;
  }

  // link opens a link to the server.
  link() {
    return Link.to(() => this.port);
  }

  // operate runs a command of the operator, and returns what it prints.
  async operate(...args) {
    const { status, output, errors } = await run(this.program, args, { env: this.env });
    assert.equal(status, 0, `planloop-server ${args.join(' ')}: ${output}${errors}`);
    return output.trim();
  }

  stop() {
    return this.running.stop();
  }
}

// Laptop is a member's machine, with a link of its own to the server, and with Claude Code if there is a model.
export class Laptop extends Bench {
  static async of(member, { program, folder, server, model }) {
    const laptop = new Laptop(program, join(folder, member));
    Object.assign(laptop, { member, link: await server.link() });
    Object.assign(laptop.env, claude.variables, { SSL_CERT_FILE: server.certificate });
    const git = (...args) => execFileSync('git', args, { cwd: laptop.workspace, env: laptop.env, stdio: 'pipe' });
    git('add', '.');
    git('-c', `user.name=${member}`, '-c', `user.email=${member}@localhost`, 'commit', '--quiet', '--message', 'Begin');
    laptop.commit = git('rev-parse', 'HEAD').toString().slice(0, 7);
    if (model) {
      claude.configure(laptop, model.origin);
      await laptop.done('init', 'claude');
    }
    return laptop;
  }

  // person runs a command in the member's own terminal, which must succeed, and returns what it shows.
  async person(args, typed) {
    const terminal = new Terminal([this.program, ...args], { cwd: this.workspace, env: this.env });
    try {
      if (typed) terminal.type(typed);
      assert.equal(await terminal.status(), 0, `planloop ${args.join(' ')}: ${terminal.output}`);
      return terminal.output;
    } finally {
      terminal.kill();
    }
  }

  // fails runs planloop, which must fail, and returns its message.
  async fails(...args) {
    const { status, output, errors } = await run(this.program, args, { cwd: this.workspace, env: this.env });
    assert.notEqual(status, 0, `planloop ${args.join(' ')} succeeded: ${output}`);
    return errors;
  }

  // isHeld reports whether its hooks refuse a change of a file.
  async isHeld() {
    const hook = new Running(this.program, ['hook', 'claude', 'pre-tool-use'], { cwd: this.workspace, env: this.env, stdio: ['pipe', 'pipe', 'pipe'] });
    const input = { file_path: join(this.workspace, 'held.txt'), content: 'alpha' };
    hook.write(JSON.stringify({ session_id: 's-1', hook_event_name: 'PreToolUse', tool_name: 'Write', tool_input: input }));
    hook.write();
    await hook.status();
    return hook.output.includes('deny');
  }

  async read(...args) {
    return JSON.parse(await this.done(...args, '--json'));
  }

  // ages makes the last confirmation of the copies older, by so many seconds.
  ages(seconds) {
    const then = new Date(Date.now() - seconds * 1000);
    const confirmed = readdirSync(this.state, { recursive: true }).filter((name) => basename(name) === 'team.confirmed');
    for (const name of confirmed) utimesSync(join(this.state, name), then, then);
  }

  // join makes the laptop one of the team, with a token that the member pastes.
  join(token) {
    return this.person(['team', 'join', this.link.address], `${token}\r\x04`);
  }
}

// register has a person register a passkey with an invitation, in a browser of its own, which then shows the team's page.
export async function register(browser, invitation) {
  const person = await browser.person();
  const page = await person.context.newPage();
  const keys = await person.context.newCDPSession(page);
  await keys.send('WebAuthn.enable');
  await keys.send('WebAuthn.addVirtualAuthenticator', {
    options: { protocol: 'ctap2', transport: 'internal', hasResidentKey: true, hasUserVerification: true, isUserVerified: true, automaticPresenceSimulation: true },
  });
  await page.goto(invitation);
  await page.getByRole('button', { name: 'Register a passkey' }).click();
  return { person, page };
}
