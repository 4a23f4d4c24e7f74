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
  /** Of each service, and of the account app, of which one has the port. */
  readonly replicas: number;
  /** Where the gateway listens; 0 for any free port. */
  readonly port: number;
  /** Where people's accounts are; 0 for any free one. */
  readonly accountPort: number;
  /** Where clients of the gpodder API sync; 0 for any free one. */
  readonly gpodderPort: number;
  readonly host: string;
  /** Under which origins they are reached, where that is not by host and port. */
  readonly publicUrl: string | undefined;
  readonly accountUrl: string | undefined;
  readonly gpodderUrl: string | undefined;
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
  --port P          where the API listens (default 3000; 0: any free port)
  --account-port P  where people's accounts are (default 3002; 0: any free port)
  --gpodder-port P  where podcast apps of today sync, by the gpodder API (default 3001; 0: any free port)
  --host H          on which address (default 127.0.0.1: this machine only; 0.0.0.0: the local network, too)
  --public-url URL  under which origin others reach the API, where a proxy is in front of it
  --account-url URL the same of people's accounts; it names the issuer of their apps' tokens
  --gpodder-url URL the same of the gpodder API
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
  'account-port': port.default(3002),
  'gpodder-port': port.default(3001),
  host: z.string().min(1).default('127.0.0.1'),
  'public-url': origin,
  'account-url': origin,
  'gpodder-url': origin,
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
    'account-port': text,
    'gpodder-port': text,
    host: text,
    'public-url': text,
    'account-url': text,
    'gpodder-url': text,
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
  const {
    'account-port': accountPort,
    'gpodder-port': gpodderPort,
    'public-url': publicUrl,
    'account-url': accountUrl,
    'gpodder-url': gpodderUrl,
    ...others
  } = argumentsSchema.parse(values);
  const places = { accountPort, gpodderPort, publicUrl, accountUrl, gpodderUrl };
  return { ...others, ...places, ...loadConfig(standaloneConfig, environment) };
}
