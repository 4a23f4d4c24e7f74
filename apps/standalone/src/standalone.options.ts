import { parseArgs } from 'node:util';
import { commonConfig, loadConfig } from '#runtime';
import { z } from 'zod';

/** What the embedded default reads from its environment. */
export const standaloneConfig = z.object({
  ...commonConfig.shape,
  POSTGRES_URL: z
    .url({ protocol: /^postgres(ql)?$/ })
    .optional()
    .describe('A Postgres to use, as the owner of a database; its own is not started then.'),
  REDIS_URL: z
    .url({ protocol: /^rediss?$/ })
    .optional()
    .describe('A Redis to use; its own is not started then.'),
});

/** Where everything is kept unless told otherwise, from where the command is typed. */
export const defaultData = '.data';

/** How the embedded default runs. */
export interface StandaloneOptions extends z.output<typeof standaloneConfig> {
  /** Of each service. */
  readonly replicas: number;
  /** Where the gateway listens; 0 for any free port. */
  readonly port: number;
  readonly host: string;
  /** The directory that holds everything. */
  readonly data: string;
}

/** The command line can't be understood, or asks how to use it. */
export class UsageError extends Error {
  constructor(problem?: string) {
    super([...(problem === undefined ? [] : [problem, '']), usage].join('\n'));
    this.name = 'UsageError';
  }
}

const usage = `Usage: npm start -- [options]

  --replicas N   processes of each service (default 1)
  --port P       where the API listens (default 3000; 0: any free port)
  --host H       on which address (default 127.0.0.1: this machine only)
  --data DIR     where everything is kept (default ${defaultData})

Environment: POSTGRES_URL and REDIS_URL name servers to use instead of its own; LOG_LEVEL (default info).`;

const argumentsSchema = z.object({
  replicas: z.coerce.number().int().min(1).max(32).default(1),
  port: z.coerce.number().int().min(0).max(65_535).default(3000),
  host: z.string().min(1).default('127.0.0.1'),
  data: z.string().min(1).default(defaultData),
});

/**
 * Reads the command line and the environment.
 *
 * @throws UsageError, or ConfigurationError for the environment.
 */
export function readOptions(args: readonly string[], environment: NodeJS.ProcessEnv): StandaloneOptions {
  const text = { type: 'string' } as const;
  const options = {
    replicas: text,
    port: text,
    host: text,
    data: text,
    help: { type: 'boolean', short: 'h' },
  } as const;
  const values = (() => {
    try {
      return parseArgs({ args: [...args], options }).values;
    } catch (error) {
      throw new UsageError((error as Error).message);
    }
  })();
  if (values.help) throw new UsageError();
  const parsed = argumentsSchema.safeParse(values);
  const issue = parsed.error?.issues[0];
  if (issue) throw new UsageError(`--${issue.path.join('.')}: ${issue.message}`);
  return { ...argumentsSchema.parse(values), ...loadConfig(standaloneConfig, environment) };
}
