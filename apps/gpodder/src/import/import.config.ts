import { redisConfig } from '#redis';
import { z } from 'zod';

/** Configuration of the command `import`: the Redis that connects it to the services. */
export const importConfig = z.object(redisConfig.shape);
