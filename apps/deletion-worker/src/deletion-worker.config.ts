import { redisConfig } from '#runtime';
import { serviceConfig } from '#runtime/service';
import { z } from 'zod';
import { queueBoardConfig } from './queue.board.js';

/** The configuration of the deletion worker. */
export const deletionWorkerConfig = z.object({
  ...serviceConfig.shape,
  ...queueBoardConfig.shape,
  QUEUE_REDIS_URL: redisConfig.shape.REDIS_URL.unwrap()
    .optional()
    .describe("The queue's Redis, which should persist. Not set: the transport's."),
  DELETION_CONCURRENCY: z.coerce
    .number()
    .int()
    .min(1)
    .max(100)
    .default(4)
    .describe('Deletions that one worker runs at once.'),
});
export type DeletionWorkerConfig = z.output<typeof deletionWorkerConfig>;
