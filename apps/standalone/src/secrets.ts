import { parseArgs } from 'node:util';
import { makeContainerSecrets, type Rotation } from './container.secrets.js';

const usage = `Usage: node dist/programs/secrets.js DIRECTORY [--rotate | --rotate-now]

Makes what is missing and leaves the rest alone. --rotate signs tokens with a new key from now on; those of the old one
stay good until they expire, or end at once with --rotate-now.`;

function readArguments(): { directory: string; rotation: Rotation | undefined } {
  const { values, positionals } = parseArgs({
    options: { rotate: { type: 'boolean' }, 'rotate-now': { type: 'boolean' } },
    allowPositionals: true,
  });
  const [directory, ...others] = positionals;
  if (!directory || others.length > 0) throw new TypeError('exactly one DIRECTORY is needed');
  if (values.rotate && values['rotate-now']) throw new TypeError('--rotate and --rotate-now exclude each other');
  return { directory, rotation: values['rotate-now'] ? 'now' : values.rotate ? 'gently' : undefined };
}

try {
  const { directory, rotation } = readArguments();
  await makeContainerSecrets(directory, rotation);
} catch (error) {
  // What can't be understood is a TypeError, as of Node's argument parser.
  const misused = error instanceof TypeError;
  process.stderr.write(`secrets: ${(error as Error).message}\n${misused ? `${usage}\n` : ''}`);
  process.exitCode = misused ? 2 : 1;
}
