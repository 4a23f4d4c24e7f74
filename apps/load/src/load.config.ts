import { identityConfig } from '#identity';
import { redisConfig } from '#redis';
import { z } from 'zod';

/** Configuration of `load`: the connection to Redis and the identities, as in gateways. */
export const loadProgramConfig = z.object({ ...redisConfig.shape, ...identityConfig.shape });
