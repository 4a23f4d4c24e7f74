import type { Api } from './api.js';
import { mergeEpisodeChanges, mergeSubscriptionChanges, serverTimeOf } from './change.rules.js';
import { ApiError, type ApiErrorCode } from './errors.js';
import { randomUuid } from './random-uuid.js';
import {
  type Batch,
  type ChangeTime,
  type EpisodeChange,
  type KeyedChange,
  keys,
  type PendingWrites,
  prefixes,
  readMeta,
  resolveGuid,
  type StatusName,
  type SubscriptionAction,
  type SubscriptionChange,
  updateRecords,
  writeMeta,
} from './records.js';
import type { Store } from './store.js';
import type { EntryFailureCode, EpisodeEntry, SubscriptionEntry } from './wire.js';

/** A change that the server rejected permanently. It is no longer pending. */
export interface SyncFailure {
  kind: 'subscription' | 'episode';
  code: EntryFailureCode | ApiErrorCode;
  /** English message: of the server for this change, or of the ApiError of the whole request. */
  message: string;
  /** The podcast's guid on this device. */
  podcast: string;
  feed_url?: string;
  /** The episode's `sync_id` on this device; absent for a subscription. */
  episode?: string;
}

/** Maximum number of entries per request (docs/reference/interface.md). */
const maxEntries = {
  subscribe: 1_000,
  setTitle: 1,
  unsubscribe: 1,
  episodes: 250,
  delete: 1,
} as const;

/**
 * Kinds of changes in the order of sending. `subscribe` is first because the other kinds need the
 * subscription. States of episodes precede the deletion of their subscription.
 */
const sendingOrder = ['subscribe', 'setTitle', 'unsubscribe', 'episodes', 'delete'] as const;

/** Size of a request body in bytes above which no entry is added. Half of the server's limit. */
const maxBodyBytes = 1_000_000;

/** Number of 500 responses to one batch after which the client splits the batch. */
const maxServerFaults = 3;

/**
 * Maximum number of batches per sync. Without it, a sync would not end while new changes arrive.
 * Further changes stay pending until the next sync.
 */
const maxBatches = 10_000;

/** Sends a store's pending changes to the server. Run only one push at a time on a store. */
export class Push {
  constructor(
    private readonly api: Api,
    private readonly store: Store,
    private readonly now: () => number,
    private readonly signal: AbortSignal | undefined,
    private readonly onFailure: (failure: SyncFailure) => void,
  ) {}

  /**
   * Sends batches until no change is pending. The store keeps each answered batch as a `done/`
   * record until the next pull has read the batch's effect.
   *
   * @throws ApiError when a request fails. The changes stay in the store for the next run.
   */
  async sendPending(): Promise<void> {
    for (let count = 0; count < maxBatches; count++) {
      const batch = await this.#prepareBatch();
      if (!batch) return;
      await this.#sendBatch(batch);
    }
  }

  async #sendBatch(batch: Batch): Promise<void> {
    let failures: SyncFailure[] = [];
    let changesToRetry: KeyedChange[] = [];
    try {
      [failures, changesToRetry] = await this.#requestBatch(batch);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      const isRejected = error.code === 'invalid' || error.code === 'too_large';
      // For a title, unsubscription or deletion, `not_found` means that nothing is left to change.
      const isObsolete =
        error.code === 'not_found' && batch.kind !== 'subscribe' && batch.kind !== 'episodes';
      if (error.status === 500) await this.#countServerFault(batch);
      if (!isRejected && !isObsolete) throw error;
      if (isRejected && batch.changes.length > 1)
        return updateRecords(this.store, (writes) => this.#splitBatch(batch, writes));
      if (isRejected)
        failures = batch.changes.map(([, change]) =>
          toSyncFailure(change, error.code, error.message),
        );
    }
    // Reports failures before it removes the batch. A crash between the two repeats the reports.
    for (const failure of failures) this.onFailure(failure);
    await updateRecords(this.store, async (writes) => {
      await this.#returnToOutbox(changesToRetry, writes);
      writes.set(keys.batch, undefined);
      writes.set(keys.done(batch.key), batch);
      const { maxChanges } = await readMeta(this.store);
      if (maxChanges !== undefined)
        await writeMeta(this.store, writes, { maxChanges: maxChanges * 2 });
    });
  }

  /**
   * Sends a batch and reads only the failures from the response. A retry gets the stored answer of
   * the first try, with states that can be outdated. The next pull reads the current states.
   *
   * @returns the rejected changes, and the changes to send again.
   */
  async #requestBatch({
    kind,
    changes,
    body,
    key,
  }: Batch): Promise<[failures: SyncFailure[], changesToRetry: KeyedChange[]]> {
    const options = { idempotencyKey: key, signal: this.signal };
    if (kind === 'episodes') {
      const { success, failure } = await this.api.uploadEpisodes(
        JSON.parse(body) as EpisodeEntry[],
        options,
      );
      const failures: SyncFailure[] = [];
      const changesToRetry: KeyedChange[] = [];
      for (const { temporary_id, code, message } of failure) {
        const [recordKey, change] = changes[Number(temporary_id)] as [string, EpisodeChange];
        // Retries the entry once, because other entries used up the size limit of the response.
        if (code === 'limit_reached' && success.length > 0 && !change.wasOverLimit)
          changesToRetry.push([recordKey, { ...change, wasOverLimit: true }]);
        else failures.push(toSyncFailure(change, code, message));
      }
      return [failures, changesToRetry];
    }
    if (kind === 'subscribe') {
      const { failure } = await this.api.addSubscriptions(
        JSON.parse(body) as SubscriptionEntry[],
        options,
      );
      const failures = failure.map(({ feed_url, code, message }) => {
        const change = changes.find(
          ([, other]) => 'actions' in other && other.actions[0]?.feed_url === feed_url,
        )?.[1];
        return change && toSyncFailure(change, code, message);
      });
      return [failures.filter((rejected) => rejected !== undefined), []];
    }
    const [[, { guid }]] = changes as [[string, SubscriptionChange]];
    const entry = JSON.parse(body) as { timestamp: string; title?: string };
    const patch = { ...(kind === 'unsubscribe' && { is_subscribed: false }), ...entry };
    if (kind === 'delete') await this.api.deleteSubscription(guid, entry, options);
    else await this.api.updateSubscription(guid, patch, options);
    return [[], []];
  }

  /** Returns the stored batch in flight, else a new stored one; undefined if nothing is pending. */
  #prepareBatch(): Promise<Batch | undefined> {
    return updateRecords(this.store, async (writes) => {
      const inFlight = (await this.store.get(keys.batch)) as Batch | undefined;
      if (inFlight) return inFlight;
      const { offset: clockOffset, maxChanges = Infinity } = await readMeta(this.store);
      const [kind, pending] = await this.#selectNextChanges();
      const now = this.now();
      const changes: KeyedChange[] = [];
      const entries: object[] = [];
      const limit = Math.min(maxEntries[kind], maxChanges, pending.length);
      for (let bytes = 0; entries.length < limit && bytes < maxBodyBytes;) {
        const [key, change] = pending[entries.length] as KeyedChange;
        const entry = toRequestEntry(change, entries.length, (time) =>
          serverTimeOf(time, now, clockOffset),
        );
        const [sentChange, remaining] =
          'actions' in change ? splitActions(change) : [change, undefined];
        changes.push([key, sentChange]);
        writes.set(key, remaining);
        entries.push(entry);
        // Counts three bytes per UTF-16 code unit, the maximum in UTF-8.
        bytes += 3 * JSON.stringify(entry).length;
      }
      if (changes.length === 0) return undefined;
      const body = JSON.stringify(maxEntries[kind] === 1 ? entries[0] : entries);
      const batch: Batch = { key: randomUuid(), kind, changes, body, serverFaults: 0 };
      writes.set(keys.batch, batch);
      return batch;
    });
  }

  /**
   * Returns the next changes to send, all of one kind; an empty list if none is pending. Changes
   * that alone got a 500 response come last, one at a time. Omits episodes of podcasts with an
   * unsent `subscribe`.
   */
  async #selectNextChanges(): Promise<[kind: Batch['kind'], changes: KeyedChange[]]> {
    const subscriptions = (await this.store.list(prefixes.subscriptionChanges)) as [
      string,
      SubscriptionChange,
    ][];
    const episodes = (await this.store.list(prefixes.episodeChanges)) as [string, EpisodeChange][];
    const startsWithKind = (change: SubscriptionChange, kind: Batch['kind']) =>
      change.actions[0]?.kind === kind;
    const guidsToSubscribe = new Set(
      subscriptions.flatMap(([, change]) =>
        startsWithKind(change, 'subscribe') ? change.guid : [],
      ),
    );
    const selectChanges = (kind: Batch['kind']): KeyedChange[] =>
      kind === 'episodes'
        ? episodes.filter(([, { podcast_guid }]) => !guidsToSubscribe.has(podcast_guid))
        : subscriptions.filter(([, change]) => startsWithKind(change, kind));
    const changesByKind = sendingOrder.map((kind) => [kind, selectChanges(kind)] as const);
    let fewestFaults = Infinity;
    for (const [, changes] of changesByKind)
      for (const change of changes) fewestFaults = Math.min(fewestFaults, getServerFaults(change));
    for (const [kind, changes] of changesByKind) {
      const nextChanges = changes.filter((change) => getServerFaults(change) === fewestFaults);
      if (nextChanges.length > 0)
        return [kind, fewestFaults === 0 ? nextChanges : nextChanges.slice(0, 1)];
    }
    return ['episodes', []];
  }

  /**
   * Counts a 500 response to a batch. The client sends the batch again unchanged, and splits it
   * after the third 500. A single change then waits until changes with fewer 500s are sent.
   */
  #countServerFault(batch: Batch): Promise<void> {
    return updateRecords(this.store, async (writes) => {
      const earlierFaults = getServerFaults(batch.changes[0] as KeyedChange);
      const serverFaults = batch.serverFaults + 1;
      if (serverFaults < maxServerFaults && earlierFaults === 0) {
        writes.set(keys.batch, { ...batch, serverFaults });
        return;
      }
      if (batch.changes.length > 1) return this.#splitBatch(batch, writes);
      const countedChanges = batch.changes.map(([key, change]): KeyedChange => [
        key,
        { ...change, serverFaults: earlierFaults + 1 },
      ]);
      await this.#returnToOutbox(countedChanges, writes);
      writes.set(keys.batch, undefined);
    });
  }

  /**
   * Makes the changes of a batch pending again and limits the next batches to half its size.
   * Repeated splits isolate the faulty change.
   */
  async #splitBatch(batch: Batch, writes: PendingWrites): Promise<void> {
    await this.#returnToOutbox(batch.changes, writes);
    const maxChanges = Math.ceil(batch.changes.length / 2);
    writes.set(keys.batch, undefined);
    await writeMeta(this.store, writes, { maxChanges });
  }

  /** Makes changes pending again, merged with newer changes. */
  async #returnToOutbox(changes: readonly KeyedChange[], writes: PendingWrites): Promise<void> {
    for (const [, change] of changes) {
      // Uses the current guid, which can have changed since the batch was stored.
      if ('actions' in change) {
        const guid = await resolveGuid(this.store, change.guid);
        const key = keys.subscriptionChange(guid);
        const newer = ((await this.store.get(key)) ?? change) as SubscriptionChange;
        writes.set(key, { ...mergeSubscriptionChanges(newer, change), guid });
      } else {
        const podcast_guid = await resolveGuid(this.store, change.podcast_guid);
        const key = keys.episodeChange(podcast_guid, change.metadata.sync_id);
        const newer = ((await this.store.get(key)) ?? change) as EpisodeChange;
        const merged = mergeEpisodeChanges(change, newer);
        writes.set(key, { ...merged, serverFaults: change.serverFaults ?? 0, podcast_guid });
      }
    }
  }
}

function getServerFaults([, { serverFaults = 0 }]: KeyedChange): number {
  return serverFaults;
}

/** Splits a change into its first action, to be sent, and the others; undefined without others. */
function splitActions({
  serverFaults = 0,
  actions,
  ...change
}: SubscriptionChange): [first: SubscriptionChange, others: SubscriptionChange | undefined] {
  const [firstActions, otherActions] = [actions.slice(0, 1), actions.slice(1)];
  return [
    { ...change, serverFaults, actions: firstActions },
    otherActions.length > 0 ? { ...change, actions: otherActions } : undefined,
  ];
}

/** Returns the request entry of a change. @param toServerTime returns a server time in ms. */
function toRequestEntry(
  change: SubscriptionChange | EpisodeChange,
  index: number,
  toServerTime: (time: ChangeTime) => number,
): object {
  const toTimestamp = (time: ChangeTime) => new Date(toServerTime(time)).toISOString();
  if ('actions' in change) {
    const [action] = change.actions as [SubscriptionAction];
    const { kind, feed_url, isDeclared, title } = action;
    const feedFields = { feed_url, ...(isDeclared && { guid: change.guid }) };
    return {
      timestamp: toTimestamp(action),
      ...(kind === 'subscribe' && feedFields),
      ...(title !== undefined && { title }),
    };
  }
  const states: Partial<Record<StatusName, { value: number | boolean; timestamp: string }>> = {};
  for (const [name, state] of Object.entries(change.states)) {
    states[name as StatusName] = { value: state.value, timestamp: toTimestamp(state) };
  }
  return {
    ...change.metadata,
    podcast_guid: change.podcast_guid,
    ...states,
    temporary_id: index,
  };
}

/** Returns the report of a rejected change. */
function toSyncFailure(
  change: SubscriptionChange | EpisodeChange,
  code: SyncFailure['code'],
  message: string,
): SyncFailure {
  if ('actions' in change)
    return {
      kind: 'subscription',
      code,
      message,
      podcast: change.guid,
      feed_url: change.actions[0]?.feed_url ?? '',
    };
  return {
    kind: 'episode',
    code,
    message,
    podcast: change.podcast_guid,
    episode: change.metadata.sync_id,
  };
}
