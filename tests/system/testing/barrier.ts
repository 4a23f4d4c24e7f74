import pg from 'pg';
import { eventually } from '#testing';

/**
 * Steps at which a deletion can be held:
 * - `requested`: DELETE has written its record and is about to commit.
 * - `claimed`: the worker has locked the clock and the record, and has written nothing.
 * - `midway`: some episodes are deleted; the one with this title is next.
 * - `finished`: only the commit is missing.
 */
export type Moment = 'requested' | 'claimed' | 'midway' | 'finished';

const key = "hashtext(TG_ARGV[0] || ' ' || %s.user_id)";
const pass = (row: 'OLD' | 'NEW') =>
  `PERFORM pg_advisory_xact_lock_shared(${key.replace('%s', row)}); RETURN ${row};`;

/** Triggers that wait for a lock, which only a closed {@link Barrier} holds. */
export const barriers = `
  CREATE FUNCTION public.barrier_of_new() RETURNS trigger
    LANGUAGE plpgsql AS $$ BEGIN ${pass('NEW')} END $$;
  CREATE FUNCTION public.barrier_of_old() RETURNS trigger
    LANGUAGE plpgsql AS $$ BEGIN ${pass('OLD')} END $$;
  CREATE FUNCTION public.barrier_of_claim() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    -- A cascade advances the clock while it locks a PENDING record that was sent to the queue. The
    -- other services cannot read the records.
    IF pg_has_role(session_user, 'podcast_sync_deletion_group', 'MEMBER') THEN
      IF EXISTS (
        SELECT FROM deletion.deletions d
        WHERE d.user_id = NEW.user_id AND d.status = 'PENDING' AND d.sent_at IS NOT NULL
      ) THEN ${pass('NEW')} END IF;
    END IF;
    RETURN NEW;
  END $$;
  CREATE CONSTRAINT TRIGGER barrier_requested
    AFTER INSERT ON deletion.deletions DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION public.barrier_of_new('requested');
  CREATE TRIGGER barrier_claimed BEFORE UPDATE ON sync.user_clock
    FOR EACH ROW EXECUTE FUNCTION public.barrier_of_claim('claimed');
  CREATE TRIGGER barrier_midway BEFORE DELETE ON episode.episodes
    FOR EACH ROW WHEN (OLD.title = 'midway') EXECUTE FUNCTION public.barrier_of_old('midway');
  CREATE CONSTRAINT TRIGGER barrier_finished
    AFTER UPDATE ON deletion.deletions DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW WHEN (NEW.status = 'SUCCESS') EXECUTE FUNCTION public.barrier_of_new('finished')`;

/** Holds a user's deletion at one step, until it is opened or its connection is lost. */
export class Barrier {
  private constructor(
    private readonly client: pg.Client,
    private readonly pid: number,
  ) {}

  static async close(ownerUrl: string, moment: Moment, userId: string): Promise<Barrier> {
    const client = new pg.Client({ connectionString: ownerUrl });
    // A kill of Postgres opens a closed barrier.
    client.on('error', () => {});
    await client.connect();
    const { rows } = await client.query<{ pid: number }>(
      'SELECT pg_backend_pid() AS pid, pg_advisory_lock(hashtext($1))',
      [`${moment} ${userId}`],
    );
    return new Barrier(client, (rows[0] as { pid: number }).pid);
  }

  /** Waits until a deletion is held. @returns the ids of the waiting Postgres processes. */
  async reached(timeout = 10_000): Promise<number[]> {
    return eventually(
      async () => {
        const { rows } = await this.client.query<{ pid: number }>(
          `SELECT pid FROM pg_stat_activity
           WHERE $1 = ANY (pg_blocking_pids(pid)) AND wait_event = $2`,
          [this.pid, 'advisory'],
        );
        if (rows.length === 0) throw new Error('nothing has reached the barrier');
        return rows.map((row) => row.pid);
      },
      { timeout },
    );
  }

  /** Continues the held deletion. */
  async open(): Promise<void> {
    await this.client.end().catch(() => undefined);
  }

  /** Terminates the held transaction, as Postgres does for a lost client. */
  async cut(): Promise<void> {
    const held = await this.reached(0).catch(() => []);
    await this.client.query('SELECT pg_terminate_backend(pid, 5000) FROM unnest($1::int[]) pid', [
      held,
    ]);
    await this.open();
  }
}
