import { commonConfig } from '#runtime';
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

/** What the command line says of how the embedded default runs. */
export interface StartOptions {
  /** Processes of each service. */
  readonly replicas: number;
  /** Where everything is served; 0 for any free port. */
  readonly port: number;
  readonly host: string;
  /** Under which origin it is reached, where that is not by host and port. */
  readonly publicUrl?: string;
  /** The directory that holds everything. */
  readonly data: string;
}

/** How the embedded default runs. */
export type StandaloneOptions = StartOptions & z.output<typeof standaloneConfig>;
