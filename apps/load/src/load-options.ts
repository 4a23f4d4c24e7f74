import { identityConfig } from '#identity';
import { redisConfig } from '#redis';
import { z } from 'zod';

/** Configuration of `load`: the connection to Redis and the identities, as in gateways. */
export const loadProgramConfig = z.object({ ...redisConfig.shape, ...identityConfig.shape });

/** Options of `load`. */
export interface LoadOptions {
  /** Paths; `-` is the standard input. */
  readonly files: readonly string[];
  /** Maximum number of users that are loaded concurrently. */
  readonly parallel: number;
  /** File for rejected lines. Default: the path of the loaded file with `.refused`. */
  readonly refused?: string;
  /** Progress file. Default: the path of the loaded file with `.progress`. */
  readonly progress?: string;
}
