// A terminal program: it runs commands on pseudo-terminals for tests, which would otherwise be the ancestors of people's commands, although
// they are the hosts of servers. It ends with its standard input. `terminals` starts it under the name of a terminal program.
//
//   xterm terminals.mjs SOCKET PACKAGES
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

const [socket, packages] = process.argv.slice(2);
const { spawn } = createRequire(join(packages, 'x.js'))('@lydell/node-pty');

createServer((connection) => {
  const say = (message) => connection.write(`${JSON.stringify(message)}\n`);
  let terminal;
  createInterface({ input: connection }).on('line', (line) => {
    const { command, args, options, write, kill } = JSON.parse(line);
    if (command) {
      terminal = spawn(command, args, options);
      terminal.onData((data) => say({ data }));
      terminal.onExit(({ exitCode }) => say({ exitCode }));
    }
    if (write) terminal.write(write);
    if (kill) terminal.kill(kill);
  });
  connection.on('error', () => {});
  connection.on('close', () => terminal?.kill('SIGKILL'));
}).listen(socket);
process.stdin.resume().on('end', () => process.exit());
