import { redisConfig } from '#redis';
import { z } from 'zod';

/** The configuration of the command `import`: the connection to the services. */
export const importConfig = z.object(redisConfig.shape);

/** Options of an import. */
export interface ImportOptions {
  /** Base URL of the other server, with a trailing `/`. */
  readonly from: URL;
  /** Name of the account on this server. */
  readonly user: string;
  /** Name of the account on the other server. */
  readonly login: string;
  /** File with the password in its first line; by default a prompt. */
  readonly passwordFile?: string | undefined;
  /** File that stores the progress, to continue later; by default `import-<hash>.progress`. */
  readonly progress?: string | undefined;
}
