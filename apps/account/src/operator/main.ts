import { runAccounts } from './operator.js';

/** The operators' command line for accounts. */
const { code, stdout, stderr } = await runAccounts(process.argv.slice(2));
process.stdout.write(stdout);
process.stderr.write(stderr);
process.exitCode = code;
