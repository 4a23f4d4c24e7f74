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
  /** Processes of each service. */
  readonly replicas: number;
  /** Where everything is served; 0 for any free port. */
  readonly port: number;
  readonly host: string;
  /** Under which origin it is reached, where that is not by host and port. */
  readonly publicUrl: string | undefined;
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

  --replicas N      processes of each service (default 1)
  --port P          where it listens (default 3000; 0: any free port)
  --host H          on which address (default 127.0.0.1: this machine only; 0.0.0.0: the local network, too)
  --public-url URL  under which origin others reach it, where a proxy is in front of it
  --data DIR        where everything is kept (default ${defaultData})

Environment: POSTGRES_URL and REDIS_URL name servers to use instead of its own; LOG_LEVEL (default info);
SMTP_URL and MAIL_FROM for mail, REGISTRATION (invite, open or closed; default invite).`;

const port = z.coerce.number().int().min(0).max(65_535);
const origin = z
  .url({ protocol: /^https?$/ })
  .refine(
    (url) => URL.canParse(url) && new URL(url).pathname === '/',
    'must be an origin, such as https://pods.example',
  )
  .transform((url) => new URL(url).origin)
  .optional();

const argumentsSchema = z.object({
  replicas: z.coerce.number().int().min(1).max(32).default(1),
  port: port.default(3000),
  host: z.string().min(1).default('127.0.0.1'),
  'public-url': origin,
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
    'public-url': text,
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
  const { 'public-url': publicUrl, ...others } = argumentsSchema.parse(values);
  return { ...others, publicUrl, ...loadConfig(standaloneConfig, environment) };
}
