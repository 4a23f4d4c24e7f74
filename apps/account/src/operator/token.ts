import { runToken } from './token.command.js';

/** The command line that makes tokens. */
const { code, stdout, stderr } = await runToken(process.argv.slice(2));
process.stdout.write(stdout);
process.stderr.write(stderr);
process.exitCode = code;
