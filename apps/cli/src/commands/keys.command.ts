import { join } from 'node:path';
import type { CommandDefinition, CommandGroup } from '../command.js';

/** Rejects a data directory without a signing key, because listing the keys would create one. */
const dataWithKeys = { required: join('keys', 'account', 'signing-key.json') };

const listKeysCommand: CommandDefinition = {
  name: 'list',
  summary: 'shows the keys that sign access tokens',
  examples: ['keys list'],
  data: dataWithKeys,
  run: async (_, { io, data }) =>
    (await import('../../../standalone/src/keys.js')).listKeys(data, io),
};

const rotateKeysCommand: CommandDefinition<{ now: boolean }> = {
  name: 'rotate',
  summary: 'signs with a new key; tokens of the old key stay valid until they expire',
  examples: ['keys rotate', 'keys rotate --now'],
  data: dataWithKeys,
  declare: (command) =>
    void command.option('--now', 'revokes the tokens of the old key immediately, as after a leak'),
  read: ({ now = false }: { now?: boolean }) => ({ now }),
  run: async (rotation, { io, data }) =>
    (await import('../../../standalone/src/keys.js')).rotateKeys(data, rotation, io),
};

export const keys: CommandGroup = {
  name: 'keys',
  summary: 'manages the keys that sign access tokens',
  commands: [listKeysCommand, rotateKeysCommand],
};
