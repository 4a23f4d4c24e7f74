import { runLoad } from './load.program.js';

process.exitCode = await runLoad(process.argv.slice(2), process);
