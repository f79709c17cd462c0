#!/usr/bin/env node
// Starts the program of this platform, which npm installed beside this package, and
// ends as it ends. Nothing is downloaded.
'use strict';

const { spawn } = require('node:child_process');

const platform = `${process.platform}-${process.arch}`;
const program = process.platform === 'win32' ? 'planloop.exe' : 'planloop';

let path;
try {
  path = require.resolve(`@planloop/${platform}/bin/${program}`);
} catch {
  console.error(
    `planloop: the package @planloop/${platform} is not installed. ` +
      'Either there is no planloop for this platform, or npm was told to leave optional dependencies out ' +
      '(--omit=optional): install again without that.',
  );
  process.exit(1);
}

const child = spawn(path, process.argv.slice(2), { stdio: 'inherit', windowsHide: true });
child.on('error', (error) => {
  console.error(`planloop: ${path} cannot be started: ${error.message}`);
  process.exit(1);
});

// A signal to this process is meant for the program. The terminal sends Ctrl-C to both, so it is
// not passed on: the program would take it for a second one, which means more than the first.
process.on('SIGINT', () => {});
for (const signal of ['SIGTERM', 'SIGHUP']) {
  process.on(signal, () => child.kill(signal));
}
child.on('exit', (code, signal) => {
  if (signal) {
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
    return;
  }
  process.exit(code);
});
