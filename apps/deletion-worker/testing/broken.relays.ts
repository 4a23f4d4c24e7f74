import type pg from 'pg';
import { countdown, type Database } from '#database';
import type { Log } from '#runtime';
import type { EventPublisher } from '../src/events/event.publisher.js';
import { EventRelay } from '../src/events/event.relay.js';
import { type EventBatch, takeBatch } from '../src/events/event.repository.js';

/** Commits the deletion of rows before Redis stored their events. */
export class HastyRelay extends EventRelay {
  constructor(
    private readonly rows: Database,
    private readonly stream: EventPublisher,
    log: Log,
    private readonly size = 100,
  ) {
    super(rows, stream, log, size);
  }

  override async publishBatch(): Promise<number> {
    const batch = await this.rows.inTransaction(countdown(10_000), async (transaction) => {
      const taken = await takeBatch(transaction, this.size, 0);
      await transaction.commit();
      return taken;
    });
    if (batch) await this.stream.publish({ ...batch, number: latest() });
    return batch?.events.length ?? 0;
  }
}

/** Appends a batch regardless of its number. */
export class UnnumberedRelay extends EventRelay {
  constructor(database: Database, publisher: EventPublisher, log: Log, size?: number) {
    const publish = (batch: EventBatch) => publisher.publish({ ...batch, number: latest() });
    super(
      database,
      Object.assign(Object.create(publisher) as EventPublisher, { publish }),
      log,
      size,
    );
  }
}

let number = 1e12;
const latest = () => (number += 1);

/** Allows several relays to have batches concurrently, also of one user. */
export async function withoutLock(owner: pg.Client): Promise<void> {
  await replaceIn(
    owner,
    "NOT pg_try_advisory_xact_lock(hashtextextended('sync.events', 0))",
    'false',
  );
  await owner.query('GRANT UPDATE ON sync.events TO podcast_sync_deletion_group');
  await replaceIn(
    owner,
    'WHERE e.user_id = take_events.user_id RETURNING',
    `WHERE e.user_id = take_events.user_id AND e.id IN (
       SELECT o.id FROM sync.events o WHERE o.user_id = take_events.user_id FOR UPDATE SKIP LOCKED
     ) RETURNING`,
  );
}

/** Gives events a stamp ahead of the clock, as if they were sent before the commit. */
export const beforeCommit = (owner: pg.Client) =>
  replaceIn(owner, 'c.stamp::timestamptz', "(c.stamp + interval '1 second')::timestamptz");

/** Omits a kind of events with several. */
export const withoutKinds = (owner: pg.Client) =>
  replaceIn(owner, 'bit_or(t.kinds)', 'min(t.kinds)');

/** Replaces a part of `sync.take_events`. */
async function replaceIn(owner: pg.Client, part: string, by: string): Promise<void> {
  const select = "SELECT pg_get_functiondef('sync.take_events'::regproc) AS text";
  const { rows } = await owner.query<{ text: string }>(select);
  const text = rows[0]?.text ?? '';
  if (!text.includes(part)) throw new Error(`there is no ${part} in sync.take_events`);
  await owner.query(text.replace(part, () => by));
}
