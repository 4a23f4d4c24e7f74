import { identityConfig } from '#identity';
import { redisConfig } from '#redis';
import { z } from 'zod';

/** The configuration of `load`: how it reaches the services, and who is who, as gateways have it. */
export const loadProgramConfig = z.object({ ...redisConfig.shape, ...identityConfig.shape });
