import { makeContainerSecrets } from './container.secrets.js';

const [directory, ...others] = process.argv.slice(2);
if (!directory || others.length > 0) {
  process.stderr.write('Usage: node dist/apps/standalone/src/secrets.js DIRECTORY\n');
  process.exitCode = 2;
} else {
  await makeContainerSecrets(directory);
}
