import { Option } from 'commander';
import type { CommandDefinition } from '../command.js';
import { parseNotEmpty, parseOrigin, integerBetween } from '../operands.js';
import type { StartOptions } from '../../../standalone/src/standalone-options.js';

const parsePort = integerBetween(0, 65_535);

export const start: CommandDefinition<Omit<StartOptions, 'data'>> = {
  name: 'start',
  summary: 'runs all parts on this machine',
  details: 'Ctrl-C stops it; the data stays.',
  examples: ['start', 'start --host 0.0.0.0 --data /srv/podcasts'],
  environment:
    'POSTGRES_URL and REDIS_URL name servers to use instead of embedded ones; LOG_LEVEL ' +
    '(default info);\nSMTP_URL and MAIL_FROM for mail, REGISTRATION (invite, open or closed; ' +
    'default invite).',
  exitCodes: '0 stopped, 1 not started',
  data: {},
  declare: (command) =>
    void command
      .option('--replicas <N>', 'processes of each service', integerBetween(1, 32), 1)
      .option('--port <P>', 'port to listen on (0: any free port)', parsePort, 3000)
      .option(
        '--host <H>',
        'address to listen on: 127.0.0.1 for this machine only, 0.0.0.0 for the network',
        parseNotEmpty,
        '127.0.0.1',
      )
      .option('--public-url <URL>', 'origin for clients, if a proxy is in front', parseOrigin)
      .addOption(
        new Option(
          '--feeds <MODE>',
          'source of titles and episodes: fetched from the publishers (default), pushed, or off',
        ).choices(['fetched', 'pushed', 'off']),
      ),
  run: async (options, { io, data }) =>
    (await import('../../../standalone/src/start.js')).startStandalone(
      { ...options, data },
      io.env,
    ),
};
