import { z } from 'zod';
import { stampSchema } from './list.schemas.js';
import { rpc } from './rpc.js';

export const deletionStatuses = ['PENDING', 'SUCCESS', 'FAILURE'] as const;
export type DeletionStatus = (typeof deletionStatuses)[number];

/** Records a deletion, which a worker processes later (DELETE /subscriptions/{guid}). */
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

/** Lists deletion records after an id, ordered by id. Ids are random, not in order of time. */
export const listDeletions = rpc({
  pattern: 'deletion.list',
  write: false,
  request: z.object({
    userId: z.guid(),
    after: z.int().min(0),
    perPage: z.int().min(1).max(1_000),
  }),
  reply: z.object({
    deletions: z.array(
      z.object({
        deletion_id: z.int().positive(),
        status: z.enum(deletionStatuses),
        requested: stampSchema,
        /** Null while the deletion is pending. */
        finished: stampSchema.nullable(),
      }),
    ),
    more: z.boolean(),
  }),
});

/**
 * Requests the erasure of a user's data. Services reject requests of the user from then on, and a
 * worker erases the data later. A repetition has no effect.
 */
export const eraseUser = rpc({
  pattern: 'deletion.erase_user',
  write: true,
  request: z.object({ userId: z.guid() }),
  reply: z.object({ status: z.enum(deletionStatuses) }),
});

/** The queue of deletions and erasures. A job names a record, whose state the worker reads. */
export const deletionQueue = {
  name: 'deletion',
  job: z.object({
    userId: z.guid(),
    deletionId: z.int().positive(),
    /** The HTTP request that caused the job: correlation id and W3C trace context. */
    origin: z.record(z.string(), z.string()).optional(),
  }),
  erasureName: 'erasure',
  erasure: z.object({
    userId: z.guid(),
    origin: z.record(z.string(), z.string()).optional(),
  }),
} as const;
export type DeletionJob = z.output<typeof deletionQueue.job>;
export type ErasureJob = z.output<typeof deletionQueue.erasure>;
