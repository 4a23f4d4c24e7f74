import type { CommandDefinition } from '../command.js';

/** `podcast-sync migrate` */
export const migrate: CommandDefinition = {
  name: 'migrate',
  summary: 'brings the database to the state of this release',
  details:
    'Makes roles, schema and logins. Running it again changes nothing. podcast-sync start does it automatically.',
  examples: ['migrate'],
  environment:
    'DATABASE_URL of the owner, and those of the apps as docs/reference/configuration.md names them.',
  run: async (_, { io }) =>
    (await import('../../../migrate/src/migrate.program.js')).runMigrate(io),
};
