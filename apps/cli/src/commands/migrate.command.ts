import type { CommandDefinition } from '../command.js';

export const migrate: CommandDefinition = {
  name: 'migrate',
  summary: 'migrates the database to this release',
  details:
    'Creates roles, schema and logins. A repetition has no effect. podcast-sync start does it ' +
    'automatically.',
  examples: ['migrate'],
  environment:
    'DATABASE_URL of the owner, and the URLs of the apps (docs/reference/configuration.md).',
  run: async (_, { io }) =>
    (await import('../../../migrate/src/migrate-program.js')).runMigrate(io),
};
