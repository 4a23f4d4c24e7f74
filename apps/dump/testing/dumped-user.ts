import { randomUUID } from 'node:crypto';
import type pg from 'pg';
import { freshUser } from '#testing';
import {
  dataEndSchema,
  dataFormat,
  type DataSubscription,
  dataSubscriptionSchema,
  dataUserSchema,
  documentedEntrySchema,
} from '#contracts';
import { z } from 'zod';

const episodeSchema = documentedEntrySchema.omit({ temporary_id: true });
type DataEpisode = z.output<typeof episodeSchema>;

/** A line of a file (docs/reference/data.md). */
const lineSchema = z.union([
  z.object({ podcast_sync: z.object({ format: z.literal(dataFormat) }) }),
  z.object({ user: dataUserSchema }),
  z.object({ subscription: dataSubscriptionSchema }),
  z.object({ episode: episodeSchema }),
  z.object({ end: dataEndSchema }),
  z.object({ complete: z.object({ users: z.int().min(0) }) }),
]);
type DataLine = z.output<typeof lineSchema>;

/** A user whose rows are written directly into Postgres. */
export class DumpedUser {
  constructor(
    private readonly owner: pg.Client,
    readonly id = freshUser(),
  ) {}

  /** Creates a user with a clock and without data. */
  static async make(
    owner: pg.Client,
    clock = '2026-01-01T00:00:00.000Z',
    id?: string,
  ): Promise<DumpedUser> {
    const user = new DumpedUser(owner, id);
    await owner.query('INSERT INTO sync.user_clock (user_id, stamp) VALUES ($1, $2)', [
      user.id,
      clock,
    ]);
    return user;
  }

  /** Adds a row to a table. @returns its id, if it has one. */
  async add(table: string, row: Record<string, unknown>): Promise<string> {
    const names = Object.keys(row);
    const { rows } = await this.owner.query<{ id: string }>(
      `INSERT INTO ${table} AS t (user_id, ${names.join(', ')})
       VALUES ($1, ${names.map((_, place) => `$${place + 2}`).join(', ')})
       RETURNING to_json(t) ->> 'id' AS id`,
      [this.id, ...Object.values(row)],
    );
    return (rows[0] as { id: string }).id;
  }

  /** Adds a subscription without guids and URLs; by default it was subscribed in 2025. */
  subscribe(row: Record<string, unknown> = {}): Promise<string> {
    const stamp = '2025-01-01T00:00:00.000Z';
    const times = { is_subscribed_at: stamp, subscription_changed: stamp, changed: stamp };
    const feed = {
      feed_url: `https://podcast.example/${randomUUID()}`,
      guid: randomUUID(),
      is_subscribed: true,
    };
    return this.add('subscription.subscriptions', { ...feed, ...times, ...row });
  }

  /** Adds episodes of a subscription with only guids, each with a playback position. */
  async upload(subscriptionId: string, count: number): Promise<void> {
    await this.owner.query(
      `WITH made AS (
         INSERT INTO episode.episodes (
           user_id, subscription_id, publish_date, sync_id, episode_guid, title, enclosure_url,
           episode_url
         )
         SELECT $1, $2, 'epoch', gen_random_uuid(), n, '', '', '' FROM generate_series(1, $3::int) n
         RETURNING user_id, id, sync_id
       )
       INSERT INTO episode.states (
         user_id, id, sync_id, changed, playback_position, playback_position_at
       )
       SELECT user_id, id, sync_id, '2025-01-01', 1, '2025-01-01' FROM made`,
      [this.id, subscriptionId, count],
    );
  }
}

/** Parses the lines of a file. @throws ZodError for a line of another format. */
export function linesIn(text: string): DataLine[] {
  return text
    .trimEnd()
    .split('\n')
    .map((line) => lineSchema.parse(JSON.parse(line)));
}

/** Returns the contents of a user's part. */
export function partOf(lines: readonly DataLine[], id: string) {
  const begin = lines.findIndex(
    (line) => 'user' in line && 'id' in line.user && line.user.id === id,
  );
  const end = lines.findIndex((line, place) => place > begin && 'end' in line);
  const part = lines.slice(begin, end + 1);
  return {
    user: part[0],
    subscriptions: part.flatMap((line): DataSubscription[] =>
      'subscription' in line ? [line.subscription] : [],
    ),
    episodes: part.flatMap((line): DataEpisode[] => ('episode' in line ? [line.episode] : [])),
    end: part.at(-1),
  };
}
