import { runErase } from './erase.program.js';

process.exitCode = await runErase(process.argv.slice(2), process);
