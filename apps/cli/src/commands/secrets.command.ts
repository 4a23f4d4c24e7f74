import { Option } from 'commander';
import type { CommandDefinition } from '../command.js';
import type { Rotation } from '../../../standalone/src/container-secrets.js';

export const secrets: CommandDefinition<{ directory: string; rotation: Rotation | undefined }> = {
  name: 'secrets',
  summary: 'creates passwords and keys for a system in containers, one folder for each container',
  details: 'Creates missing secrets and keeps existing ones.',
  examples: ['secrets .data/secrets', 'secrets .data/secrets --rotate'],
  declare: (command) =>
    void command
      .argument('<DIRECTORY>', 'directory that gets the folders')
      .option(
        '--rotate',
        'signs with a new key; tokens of the old key stay valid until they expire',
      )
      .addOption(
        new Option('--rotate-now', 'the same, and revokes the tokens of the old key').conflicts(
          'rotate',
        ),
      ),
  read: ({ rotate, rotateNow }: { rotate?: boolean; rotateNow?: boolean }, [directory = '']) => ({
    directory,
    rotation: rotateNow ? 'now' : rotate ? 'gently' : undefined,
  }),
  run: async ({ directory, rotation }) =>
    (await import('../../../standalone/src/container-secrets.js')).makeContainerSecrets(
      directory,
      rotation,
    ),
};
