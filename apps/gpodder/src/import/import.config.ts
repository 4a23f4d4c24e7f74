import { redisConfig } from '#redis';
import { z } from 'zod';

/** The configuration of `import`: how it reaches the services. */
export const importConfig = z.object(redisConfig.shape);
