import { z } from 'zod';
import { rpc } from './rpc.js';

export const deletionStatuses = ['PENDING', 'SUCCESS', 'FAILURE'] as const;
export type DeletionStatus = (typeof deletionStatuses)[number];

/** Records a deletion and answers at once; it is processed afterwards (DELETE /subscriptions/{guid}). */
export const requestDeletion = rpc({
  pattern: 'deletion.request',
  write: true,
  request: z.object({ userId: z.guid(), guid: z.guid(), timestamp: z.string().optional() }),
  reply: z.object({ deletionId: z.int().positive() }),
});

/** Reads a deletion record (GET /deletions/{id}). */
export const readDeletion = rpc({
  pattern: 'deletion.read',
  write: false,
  request: z.object({ userId: z.guid(), deletionId: z.int().positive() }),
  reply: z.object({ deletionId: z.int().positive(), status: z.enum(deletionStatuses) }),
});

/** The queue that delivers deletions to workers. A job only names a record; the record says what is to be done. */
export const deletionQueue = {
  name: 'deletion',
  job: z.object({
    userId: z.guid(),
    deletionId: z.int().positive(),
    /** The request it comes from: its id for logs and its W3C trace context. */
    origin: z.record(z.string(), z.string()).optional(),
  }),
} as const;
export type DeletionJob = z.output<typeof deletionQueue.job>;
