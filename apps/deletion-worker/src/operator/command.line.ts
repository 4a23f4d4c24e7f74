import { runDeletions } from './deletions.js';

/** The operators' command line for deletions. */
const { code, stdout, stderr } = await runDeletions(process.argv.slice(2));
process.stdout.write(stdout);
process.stderr.write(stderr);
process.exitCode = code;
