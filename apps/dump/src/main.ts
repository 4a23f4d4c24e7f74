import { runDump } from './dump.program.js';

process.exitCode = await runDump(process.argv.slice(2), process);
