import type { Api } from './api.js';
import { currentGuid } from './changing.js';
import { ApiError, type ApiErrorCode } from './errors.js';
import { newKey } from './key.js';
import {
  type Batch,
  bothEpisodes,
  type EpisodeChange,
  keys,
  laterSubscription,
  type Meta,
  type StatusName,
  type SubscriptionChange,
} from './records.js';
import type { Store, Value } from './store.js';
import type { EntryFailureCode, EpisodeEntry, SubscriptionEntry } from './wire.js';

/** A change of the listener that the server will never accept. It waits no more. */
export interface SyncFailure {
  kind: 'subscription' | 'episode';
  code: EntryFailureCode | ApiErrorCode;
  /** For people. */
  message: string;
  /** The podcast's guid, as it was known here. */
  podcast: string;
  feed_url?: string;
  /** The episode's `sync_id`, as it was known here. */
  episode?: string;
}

/** The most entries that the server takes at a time (docs/interface.md). */
const mostEntries = { subscribe: 1_000, unsubscribe: 1, delete: 1, episodes: 250 } as const;

/** The most bytes of a body, about; the server takes twice as many. */
const mostBytes = 1_000_000;

/** After so many faults of the server about the same batch its changes are sent in smaller ones. */
const mostFaults = 3;

/** A sync ends after so many batches, whatever is changed meanwhile. */
const mostBatches = 10_000;

/** Sends what waits in a store. Only one at a time may run on a store. */
export class Push {
  constructor(
    private readonly api: Api,
    private readonly store: Store,
    private readonly signal: AbortSignal | undefined,
    private readonly onFailure: (failure: SyncFailure) => void,
  ) {}

  /**
   * Sends until nothing waits.
   *
   * @returns whether anything was sent.
   * @throws ApiError when something can't be sent now; the same goes first the next time.
   */
  async run(): Promise<boolean> {
    for (let sent = 0; sent < mostBatches; sent++) {
      const batch = await this.store.alone('state', () => this.frozen());
      if (!batch) return sent > 0;
      await this.send(batch);
    }
    return true;
  }

  private async send(batch: Batch): Promise<void> {
    let failures: SyncFailure[] = [];
    let again: Batch['changes'] = [];
    try {
      [failures, again] = await this.sent(batch);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      const isRefused = error.code === 'invalid' || error.code === 'too_large';
      const isFault = error.status === 500;
      // It is gone: there is nothing to unsubscribe from or to delete.
      const isMoot = error.code === 'not_found' && (batch.kind === 'unsubscribe' || batch.kind === 'delete');
      if (!isRefused && !isFault && !isMoot) throw error;
      if (isFault && batch.faults + 1 < mostFaults) {
        await this.write(new Map([[keys.batch, { ...batch, faults: batch.faults + 1 }]]));
        throw error;
      }
      if (!isMoot && batch.changes.length > 1) return this.store.alone('state', () => this.split(batch));
      if (!isMoot) failures = batch.changes.map(([, change]) => failureOf(change, error.code, error.message));
    }
    // Told before it is forgotten: who crashes here is told twice.
    for (const failure of failures) this.onFailure(failure);
    await this.store.alone('state', async () => {
      const writes = await this.waiting(again);
      writes.set(keys.batch, undefined);
      writes.set(keys.done(batch.key), batch);
      const meta = (await this.store.get(keys.meta)) as Meta;
      if (meta.most !== undefined) writes.set(keys.meta, { ...meta, most: meta.most * 2 });
      await this.store.write(writes);
    });
  }

  /**
   * Sends a batch. The answer may be one of an earlier attempt, and show what was true then: it is taken for the verdicts on
   * the entries only, and how things stand is pulled.
   *
   * @returns what was refused, and what to send once more.
   */
  private async sent({ kind, changes, body, key }: Batch): Promise<[SyncFailure[], Batch['changes']]> {
    const options = { idempotencyKey: key, signal: this.signal };
    if (kind === 'episodes') {
      const { success, failure } = await this.api.uploadEpisodes(JSON.parse(body) as EpisodeEntry[], options);
      const failures: SyncFailure[] = [];
      const again: Batch['changes'] = [];
      for (const { temporary_id, code, message } of failure) {
        const [name, change] = changes[Number(temporary_id)] as [string, EpisodeChange];
        // Where others took the room of the answer, it is among fewer the next time.
        if (code === 'limit_reached' && success.length > 0 && !change.again)
          again.push([name, { ...change, again: true }]);
        else failures.push(failureOf(change, code, message));
      }
      return [failures, again];
    }
    if (kind === 'subscribe') {
      const { failure } = await this.api.addSubscriptions(JSON.parse(body) as SubscriptionEntry[], options);
      const verdicts = failure.map(({ feed_url, code, message }) => {
        const change = changes.find(([, other]) => (other as SubscriptionChange).feed_url === feed_url)?.[1];
        return change && failureOf(change, code, message);
      });
      return [verdicts.filter((verdict) => verdict !== undefined), []];
    }
    const [[, { guid }]] = changes as [[string, SubscriptionChange]];
    const sent = JSON.parse(body) as { timestamp: string };
    if (kind === 'delete') await this.api.deleteSubscription(guid, sent, options);
    else await this.api.updateSubscription(guid, { is_subscribed: false, ...sent }, options);
    return [[], []];
  }

  /** The batch that is on its way, else the next one, with its key kept before it is sent. */
  private async frozen(): Promise<Batch | undefined> {
    const batch = (await this.store.get(keys.batch)) as Batch | undefined;
    if (batch) return batch;
    const { offset, most = Infinity } = ((await this.store.get(keys.meta)) ?? { offset: 0 }) as Meta;
    // Subscriptions first: episodes are of them.
    const subscriptions = (await this.store.list('change/subscription/')) as [string, SubscriptionChange][];
    const wanted = (['subscribed', 'unsubscribed', 'deleted'] as const).map((state) =>
      subscriptions.filter(([, change]) => change.wanted === state),
    );
    const episodes = wanted.some((changes) => changes.length > 0) ? [] : await this.store.list('change/episode/');
    const [kind, waiting] = [
      ['subscribe', wanted[0] ?? []] as const,
      ['unsubscribe', wanted[1] ?? []] as const,
      ['delete', wanted[2] ?? []] as const,
      ['episodes', episodes as [string, EpisodeChange][]] as const,
    ].find(([, changes]) => changes.length > 0) ?? ['episodes', []];
    const changes: Batch['changes'] = [];
    const entries: object[] = [];
    for (let bytes = 0; entries.length < Math.min(mostEntries[kind], most, waiting.length) && bytes < mostBytes;) {
      const change = waiting[entries.length] as Batch['changes'][number];
      const entry = entryOf(change[1], entries.length, offset);
      changes.push(change);
      entries.push(entry);
      // A character takes three bytes at most.
      bytes += 3 * JSON.stringify(entry).length;
    }
    if (changes.length === 0) return undefined;
    const single = kind === 'unsubscribe' || kind === 'delete';
    const next: Batch = {
      key: newKey(),
      kind,
      changes,
      body: JSON.stringify(single ? entries[0] : entries),
      faults: 0,
    };
    const writes = new Map<string, Value | undefined>(changes.map(([key]) => [key, undefined]));
    await this.store.write(writes.set(keys.batch, next));
    return next;
  }

  /** Takes a batch back that was refused as a whole: the next ones are half as large, until the one that is wrong is alone. */
  private async split(batch: Batch): Promise<void> {
    const writes = await this.waiting(batch.changes);
    const meta = (await this.store.get(keys.meta)) as Meta;
    writes.set(keys.batch, undefined);
    writes.set(keys.meta, { ...meta, most: Math.ceil(batch.changes.length / 2) });
    await this.store.write(writes);
  }

  /** Changes that wait again, below what was changed since. */
  private async waiting(changes: Batch['changes']): Promise<Map<string, Value | undefined>> {
    const writes = new Map<string, Value | undefined>();
    for (const [, change] of changes) {
      // The subscription may have another guid by now.
      if ('wanted' in change) {
        const guid = await currentGuid(this.store, change.guid);
        const key = keys.subscriptionChange(guid);
        const newer = ((await this.store.get(key)) ?? change) as SubscriptionChange;
        writes.set(key, { ...laterSubscription(change, newer), guid });
      } else {
        const podcast_guid = await currentGuid(this.store, change.podcast_guid);
        const key = keys.episodeChange(podcast_guid, change.facts.sync_id);
        const newer = ((await this.store.get(key)) ?? change) as EpisodeChange;
        writes.set(key, { ...bothEpisodes(change, newer), podcast_guid });
      }
    }
    return writes;
  }

  private write(writes: Map<string, Value | undefined>): Promise<void> {
    return this.store.alone('state', () => this.store.write(writes));
  }
}

/** What is sent for a change: its time is that of the server's clock. */
function entryOf(change: SubscriptionChange | EpisodeChange, place: number, offset: number): object {
  const time = (at: number) => new Date(at + offset).toISOString();
  if ('wanted' in change) {
    const { wanted, feed_url, guid, declared, at } = change;
    return { timestamp: time(at), ...(wanted === 'subscribed' && { feed_url, ...(declared && { guid }) }) };
  }
  const states: Partial<Record<StatusName, { value: number | boolean; timestamp: string }>> = {};
  for (const [name, { value, at }] of Object.entries(change.states)) {
    states[name as StatusName] = { value, timestamp: time(at) };
  }
  return { ...change.facts, podcast_guid: change.podcast_guid, ...states, temporary_id: place };
}

function failureOf(
  change: SubscriptionChange | EpisodeChange,
  code: SyncFailure['code'],
  message: string,
): SyncFailure {
  if ('wanted' in change)
    return { kind: 'subscription', code, message, podcast: change.guid, feed_url: change.feed_url };
  return { kind: 'episode', code, message, podcast: change.podcast_guid, episode: change.facts.sync_id };
}
