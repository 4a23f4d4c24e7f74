import { redisConfig } from '#redis';
import { z } from 'zod';

/** The configuration of `import`: the connection to the services. */
export const importConfig = z.object(redisConfig.shape);
