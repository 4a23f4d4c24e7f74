import type { Api } from './api.js';
import { currentGuid, metaOf } from './changing.js';
import { ApiError, type ApiErrorCode } from './errors.js';
import { newKey } from './key.js';
import {
  type Batch,
  bothEpisodes,
  bothSubscriptions,
  type EpisodeChange,
  keys,
  type Moment,
  type StatusName,
  type SubscriptionChange,
  timeOf,
} from './records.js';
import type { Store, Value } from './store.js';
import type { EntryFailureCode, EpisodeEntry, SubscriptionEntry } from './wire.js';

/** A change that the server rejected permanently. It is no longer pending. */
export interface SyncFailure {
  kind: 'subscription' | 'episode';
  code: EntryFailureCode | ApiErrorCode;
  /** Message for people. */
  message: string;
  /** The podcast's guid on this device. */
  podcast: string;
  feed_url?: string;
  /** The episode's `sync_id` on this device. */
  episode?: string;
}

/** Most entries per request (docs/reference/interface.md). */
const mostEntries = {
  subscribed: 1_000,
  titled: 1,
  unsubscribed: 1,
  episodes: 250,
  deleted: 1,
} as const;

/**
 * The order in which changes are sent. All other changes need the subscription, and states are sent
 * before the deletion of their subscription.
 */
const kinds = ['subscribed', 'titled', 'unsubscribed', 'episodes', 'deleted'] as const;

/** Approximate limit of a body in bytes; half of the server's limit. */
const mostBytes = 1_000_000;

/** Server faults for one batch after which its changes are sent in smaller batches. */
const mostFaults = 3;

/** Most batches per sync, which bounds a sync while changes continue. */
const mostBatches = 10_000;

/** Sends the pending changes of a store. Only one push at a time may run on a store. */
export class Push {
  constructor(
    private readonly api: Api,
    private readonly store: Store,
    private readonly clock: () => number,
    private readonly signal: AbortSignal | undefined,
    private readonly onFailure: (failure: SyncFailure) => void,
  ) {}

  /**
   * Sends batches until no change is pending.
   *
   * @returns true if anything was sent.
   * @throws ApiError when sending fails for now. The changes stay stored for the next run.
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
      // The subscription no longer exists, so there is nothing left to do.
      const isMoot =
        error.code === 'not_found' && batch.kind !== 'subscribed' && batch.kind !== 'episodes';
      if (error.status === 500) await this.store.alone('state', () => this.countFault(batch));
      if (!isRefused && !isMoot) throw error;
      if (!isMoot && batch.changes.length > 1)
        return this.store.alone('state', () => this.split(batch));
      if (!isMoot)
        failures = batch.changes.map(([, change]) => failureOf(change, error.code, error.message));
    }
    // Reported before the batch is removed: after a crash here the failure is reported twice.
    for (const failure of failures) this.onFailure(failure);
    await this.store.alone('state', async () => {
      const writes = await this.waiting(again);
      writes.set(keys.batch, undefined);
      writes.set(keys.done(batch.key), batch);
      const meta = await metaOf(this.store);
      if (meta.most !== undefined) writes.set(keys.meta, { ...meta, most: meta.most * 2 });
      await this.store.write(writes);
    });
  }

  /**
   * Sends a batch. The response can be the stored one of an earlier attempt. The result uses only
   * its verdicts on entries, and the next pull reads the current state.
   *
   * @returns the rejected changes, and the changes to send again.
   */
  private async sent({
    kind,
    changes,
    body,
    key,
  }: Batch): Promise<[SyncFailure[], Batch['changes']]> {
    const options = { idempotencyKey: key, signal: this.signal };
    if (kind === 'episodes') {
      const { success, failure } = await this.api.uploadEpisodes(
        JSON.parse(body) as EpisodeEntry[],
        options,
      );
      const failures: SyncFailure[] = [];
      const again: Batch['changes'] = [];
      for (const { temporary_id, code, message } of failure) {
        const [name, change] = changes[Number(temporary_id)] as [string, EpisodeChange];
        // Other entries used up the response's size limit; the next batch has fewer.
        if (code === 'limit_reached' && success.length > 0 && !change.again)
          again.push([name, { ...change, again: true }]);
        else failures.push(failureOf(change, code, message));
      }
      return [failures, again];
    }
    if (kind === 'subscribed') {
      const { failure } = await this.api.addSubscriptions(
        JSON.parse(body) as SubscriptionEntry[],
        options,
      );
      const verdicts = failure.map(({ feed_url, code, message }) => {
        const change = changes.find(
          ([, other]) => 'acts' in other && other.acts[0]?.feed_url === feed_url,
        )?.[1];
        return change && failureOf(change, code, message);
      });
      return [verdicts.filter((verdict) => verdict !== undefined), []];
    }
    const [[, { guid }]] = changes as [[string, SubscriptionChange]];
    const sent = JSON.parse(body) as { timestamp: string; title?: string };
    const change = { ...(kind === 'unsubscribed' && { is_subscribed: false }), ...sent };
    if (kind === 'deleted') await this.api.deleteSubscription(guid, sent, options);
    else await this.api.updateSubscription(guid, change, options);
    return [[], []];
  }

  /** Returns the batch in flight, or stores and returns the next. Stores its key before sending. */
  private async frozen(): Promise<Batch | undefined> {
    const current = (await this.store.get(keys.batch)) as Batch | undefined;
    if (current) return current;
    const { offset, most = Infinity } = await metaOf(this.store);
    const [kind, waiting] = await this.next();
    const now = this.clock();
    const changes: Batch['changes'] = [];
    const entries: object[] = [];
    const writes = new Map<string, Value | undefined>();
    for (
      let bytes = 0;
      entries.length < Math.min(mostEntries[kind], most, waiting.length) && bytes < mostBytes;
    ) {
      const [key, change] = waiting[entries.length] as Batch['changes'][number];
      const entry = entryOf(change, entries.length, (moment) => timeOf(moment, now, offset));
      const [first, rest] = 'acts' in change ? parted(change) : [change, undefined];
      changes.push([key, first]);
      writes.set(key, rest);
      entries.push(entry);
      // A character takes at most three bytes.
      bytes += 3 * JSON.stringify(entry).length;
    }
    if (changes.length === 0) return undefined;
    const body = JSON.stringify(mostEntries[kind] === 1 ? entries[0] : entries);
    const batch: Batch = { key: newKey(), kind, changes, body, faults: 0 };
    await this.store.write(writes.set(keys.batch, batch));
    return batch;
  }

  /** Returns the next changes to send, of one kind. Changes with server faults go last, singly. */
  private async next(): Promise<[kind: Batch['kind'], changes: Batch['changes']]> {
    const subscriptions = (await this.store.list('change/subscription/')) as [
      string,
      SubscriptionChange,
    ][];
    const states = (await this.store.list('change/episode/')) as [string, EpisodeChange][];
    const begins = (change: SubscriptionChange, kind: Batch['kind']) =>
      change.acts[0]?.kind === kind;
    const missing = new Set(
      subscriptions.flatMap(([, change]) => (begins(change, 'subscribed') ? change.guid : [])),
    );
    const changesOf = (kind: Batch['kind']): Batch['changes'] =>
      kind === 'episodes'
        ? states.filter(([, { podcast_guid }]) => !missing.has(podcast_guid))
        : subscriptions.filter(([, change]) => begins(change, kind));
    const all = kinds.map((kind) => [kind, changesOf(kind)] as const);
    const least = Math.min(
      ...all.flatMap(([, changes]) => changes.map(([, { held = 0 }]) => held)),
    );
    for (const [kind, changes] of all) {
      const next = changes.filter(([, { held = 0 }]) => held === least);
      if (next.length > 0) return [kind, least === 0 ? next : next.slice(0, 1)];
    }
    return ['episodes', []];
  }

  /**
   * Counts a server fault for a batch and drops nothing. The batch is sent again unchanged, then in
   * smaller batches. A single faulty change is sent after all others.
   */
  private async countFault(batch: Batch): Promise<void> {
    const [[, { held = 0 }]] = batch.changes as [Batch['changes'][number]];
    const faults = batch.faults + 1;
    if (faults < mostFaults && held === 0)
      return this.store.write(new Map([[keys.batch, { ...batch, faults }]]));
    if (batch.changes.length > 1) return this.split(batch);
    const writes = await this.waiting(
      batch.changes.map(([key, change]) => [key, { ...change, held: held + 1 }]),
    );
    await this.store.write(writes.set(keys.batch, undefined));
  }

  /**
   * Returns a rejected batch to the pending changes. The next batches have half its size, until the
   * invalid entry is alone.
   */
  private async split(batch: Batch): Promise<void> {
    const writes = await this.waiting(batch.changes);
    const meta = await metaOf(this.store);
    writes.set(keys.batch, undefined);
    writes.set(keys.meta, { ...meta, most: Math.ceil(batch.changes.length / 2) });
    await this.store.write(writes);
  }

  /** Returns writes that make changes pending again, merged with newer changes. */
  private async waiting(changes: Batch['changes']): Promise<Map<string, Value | undefined>> {
    const writes = new Map<string, Value | undefined>();
    for (const [, change] of changes) {
      // The subscription can have another guid by now.
      if ('acts' in change) {
        const guid = await currentGuid(this.store, change.guid);
        const key = keys.subscriptionChange(guid);
        const newer = ((await this.store.get(key)) ?? change) as SubscriptionChange;
        writes.set(key, { ...bothSubscriptions(newer, change), guid });
      } else {
        const podcast_guid = await currentGuid(this.store, change.podcast_guid);
        const key = keys.episodeChange(podcast_guid, change.facts.sync_id);
        const newer = ((await this.store.get(key)) ?? change) as EpisodeChange;
        writes.set(key, { ...bothEpisodes(change, newer), held: change.held ?? 0, podcast_guid });
      }
    }
    return writes;
  }
}

/** Returns the first act of a change, which is sent, and the change that stays pending. */
function parted({
  held,
  acts,
  ...change
}: SubscriptionChange): [SubscriptionChange, SubscriptionChange | undefined] {
  const [first, rest] = [acts.slice(0, 1), acts.slice(1)];
  return [
    { ...change, held: held ?? 0, acts: first },
    rest.length > 0 ? { ...change, acts: rest } : undefined,
  ];
}

/** Returns the request entry of a change. @param time converts a moment to server time in ms. */
function entryOf(
  change: SubscriptionChange | EpisodeChange,
  place: number,
  time: (moment: Moment) => number,
): object {
  const timestamp = (moment: Moment) => new Date(time(moment)).toISOString();
  if ('acts' in change) {
    const [act] = change.acts as [SubscriptionChange['acts'][number]];
    const { kind, feed_url, declared, title } = act;
    const feed = { feed_url, ...(declared && { guid: change.guid }) };
    return {
      timestamp: timestamp(act),
      ...(kind === 'subscribed' && feed),
      ...(title !== undefined && { title }),
    };
  }
  const states: Partial<Record<StatusName, { value: number | boolean; timestamp: string }>> = {};
  for (const [name, state] of Object.entries(change.states)) {
    states[name as StatusName] = { value: state.value, timestamp: timestamp(state) };
  }
  return { ...change.facts, podcast_guid: change.podcast_guid, ...states, temporary_id: place };
}

function failureOf(
  change: SubscriptionChange | EpisodeChange,
  code: SyncFailure['code'],
  message: string,
): SyncFailure {
  if ('acts' in change)
    return {
      kind: 'subscription',
      code,
      message,
      podcast: change.guid,
      feed_url: change.acts[0]?.feed_url ?? '',
    };
  return {
    kind: 'episode',
    code,
    message,
    podcast: change.podcast_guid,
    episode: change.facts.sync_id,
  };
}
