#!/usr/bin/env node
// Runs the memcore of this platform, which npm has installed as an optional dependency.
'use strict';

const { spawn } = require('node:child_process');

const name = `@memcore/${process.platform}-${process.arch}`;
const file = process.platform === 'win32' ? 'memcore.exe' : 'memcore';

let program;
try {
  program = require.resolve(`${name}/${file}`);
} catch {
  console.error(`memcore: the package ${name}, which has the program for this machine, is not installed.
If there is one, install memcore again without --omit=optional or --no-optional.`);
  process.exit(1);
}

const child = spawn(program, process.argv.slice(2), { stdio: 'inherit' });
// A terminal sends Ctrl-C to both processes.
process.on('SIGINT', () => {});
for (const signal of ['SIGTERM', 'SIGHUP']) {
  process.on(signal, () => child.kill(signal));
}
child.on('error', (err) => {
  console.error(`memcore: cannot run ${program}: ${err.message}`);
  process.exit(1);
});
child.on('exit', (code, signal) => {
  if (signal) {
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  } else {
    process.exit(code);
  }
});
