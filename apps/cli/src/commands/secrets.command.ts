import { Option } from 'commander';
import type { CommandDefinition } from '../command.js';
import type { Rotation } from '../../../standalone/src/container.secrets.js';

/** `podcast-sync secrets` */
export const secrets: CommandDefinition<{ directory: string; rotation: Rotation | undefined }> = {
  name: 'secrets',
  summary: 'makes the passwords and keys of a system in containers, a folder for each part',
  details: 'Makes what is missing and leaves the rest alone.',
  examples: ['secrets .data/secrets', 'secrets .data/secrets --rotate'],
  declare: (command) =>
    void command
      .argument('<DIRECTORY>', 'where the folders are')
      .option(
        '--rotate',
        'sign tokens with a new key; the old one proves its tokens until they have expired',
      )
      .addOption(
        new Option('--rotate-now', 'the same, and end the tokens of the old key').conflicts(
          'rotate',
        ),
      ),
  read: ({ rotate, rotateNow }: { rotate?: boolean; rotateNow?: boolean }, [directory = '']) => ({
    directory,
    rotation: rotateNow ? 'now' : rotate ? 'gently' : undefined,
  }),
  run: async ({ directory, rotation }) =>
    (await import('../../../standalone/src/container.secrets.js')).makeContainerSecrets(
      directory,
      rotation,
    ),
};
