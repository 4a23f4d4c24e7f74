#!/usr/bin/env node
import { podcastSync } from './podcast-sync.js';

// A closed output is no failure: `head` closes its pipe, and `start` continues without a terminal.
process.stdout.on('error', ({ code }: NodeJS.ErrnoException) => {
  if (code !== 'EPIPE') process.exitCode = 1;
});
const exitCode = await podcastSync(process.argv.slice(2), process);
process.exitCode ||= exitCode;
