import {
  answerRead,
  answerUpload,
  type Clock,
  type ListAnswer,
  type ListRead,
  type SyncState,
  uploadTimestamp,
} from '../src/sync-state.rules.js';

/** The simulated apps. They differ in the `since` that they send after an answer. */
export const kinds = [
  'antennapod',
  'antennapod-nextcloud',
  'kasts',
  'gpodder',
  'music-assistant',
  'cardo',
  'gnome-podcasts',
] as const;
type Kind = (typeof kinds)[number];

/** Apps that send the time of their own clock as `since`. Each needs a separate app password. */
const ownClock: ReadonlySet<Kind> = new Set(['antennapod-nextcloud', 'cardo', 'gnome-podcasts']);
/** Apps that send the session cookie back. */
const withSession: ReadonlySet<Kind> = new Set(['antennapod', 'kasts', 'gpodder']);

/** Number of items in each list. */
const items = 4;
type List = 'subscriptions' | 'episodes';

/** Returns a generator of whole numbers below a bound, repeatable by its seed (mulberry32). */
export function seededRandom(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296) * below);
  };
}

interface Row {
  /** For a feed 1 if subscribed, else 0; for an episode the number of its latest change. */
  value: number;
  /** Stamp of the last change; 0 for none. */
  stamp: number;
}

/** The user's rows and sync state in Postgres. */
interface Stored {
  clock: Omit<Clock, 'now'>;
  rows: Record<List, Row[]>;
  readers: Map<string, SyncState['reader']>;
  sessionStamps: Map<string, number>;
}

/** A simulated app with its own copy of both lists. */
export class Client {
  readonly since: Record<List, number> = { subscriptions: 0, episodes: 0 };
  readonly values: Record<List, number[]> = {
    subscriptions: Array(items).fill(0),
    episodes: Array(items).fill(0),
  };
  /** Items with changes that are not yet uploaded. */
  readonly pending: Record<List, Set<number>> = { subscriptions: new Set(), episodes: new Set() };
  session: number | undefined;
  /** The running sync; undefined between syncs. */
  running: Generator<unknown> | undefined;

  constructor(
    readonly kind: Kind,
    readonly credential: number,
    /** Seconds by which its clock is ahead; negative if it is behind. */
    readonly skew: number,
  ) {}

  get hasOwnClock(): boolean {
    return ownClock.has(this.kind);
  }
}

/** Simulates the service, its clients, the network and the time, repeatable by a seed. */
export class Simulation {
  now = 1_700_000_000_000;
  readonly clients: Client[] = [];
  /** Number of rows in all answers so far. */
  answeredRows = 0;
  /** Number of messages that changed the sync state. */
  stateChanges = 0;
  private stored: Stored;
  private backup: Stored | undefined;
  private changes = 0;
  private sessions = 0;
  private lastReceivedAt = 0;
  /** Reads that the service will run late or a second time. */
  private readonly delayedReads: { receivedAt: number; deliver: () => void }[] = [];
  /** True loses answers, ends apps, and delivers messages late or twice. */
  hasFaults = true;
  isRestored = false;

  constructor(readonly random: (below: number) => number) {
    const rows = () => Array.from({ length: items }, () => ({ value: 0, stamp: 0 }));
    // In 1 of 20 runs, the clock is ahead, as with data from a server whose time was ahead.
    const stamp = random(20) === 0 ? this.now + 7_000 : 0;
    this.stored = {
      clock: { stamp, answeredSecond: 0 },
      rows: { subscriptions: rows(), episodes: rows() },
      readers: new Map(),
      sessionStamps: new Map(),
    };
  }

  row(list: List, item: number): Readonly<Row> {
    return this.stored.rows[list][item] as Row;
  }

  tick(maxMs = 3_000): void {
    this.now += this.random(maxMs);
  }

  /** Changes an item on a client, which uploads it with its next sync. */
  changeLocally(client: Client): void {
    const list = this.random(2) === 0 ? 'subscriptions' : 'episodes';
    const item = this.random(items);
    client.values[list][item] =
      list === 'subscriptions' ? 1 - client.values[list][item]! : (this.changes += 1);
    client.pending[list].add(item);
  }

  /** Changes an item by the main API, or by a client that is not simulated. */
  changeElsewhere(): void {
    const list = this.random(2) === 0 ? 'subscriptions' : 'episodes';
    const item = this.random(items);
    const value = list === 'subscriptions' ? 1 - this.row(list, item).value : (this.changes += 1);
    this.write(list, [[item, value]]);
  }

  backUp(): void {
    if (!this.isRestored) this.backup = structuredClone(this.stored);
  }

  /** Restores the last backup, at most once in a run. */
  restore(): void {
    if (!this.backup || this.isRestored) return;
    this.stored = structuredClone(this.backup);
    this.isRestored = true;
    this.now += 10_000;
  }

  /** Returns true if a feed has not changed since the restored backup. */
  isAsRestored(feed: number): boolean {
    return (
      this.isRestored &&
      this.backup?.rows.subscriptions[feed]?.stamp === this.row('subscriptions', feed).stamp
    );
  }

  /** Deletes K and M, as above the limit of rows; not K of apps with their own clock. */
  evict(): void {
    const withOwnClock = new Set(
      this.clients.filter((client) => client.hasOwnClock).map(({ credential }) => credential),
    );
    for (const { credential } of this.clients)
      if (!withOwnClock.has(credential))
        for (const list of ['subscriptions', 'episodes'])
          this.stored.readers.delete(`${credential} ${list}`);
    this.stored.sessionStamps.clear();
  }

  /** Delivers a delayed read, if its age is above the takeover time and below its deadline. */
  deliverDelayed(): void {
    const [read] = this.delayedReads.splice(this.random(this.delayedReads.length), 1);
    const age = this.now - (read?.receivedAt ?? 0);
    if (age > 1_000 && age < 20_000) read?.deliver();
  }

  /** Starts a sync, or runs the next step of the running one. */
  step(client: Client): void {
    if (withSession.has(client.kind) && client.session === undefined)
      client.session = this.sessions += 1;
    client.running ??= this.sync(client);
    if (this.hasFaults && this.random(40) === 0) return this.end(client);
    if (client.running.next().done) client.running = undefined;
  }

  /** Ends an app in the middle of its sync. */
  end(client: Client): void {
    client.running = undefined;
    if (client.session !== undefined && this.random(2) === 0) client.session = undefined;
  }

  /** Runs one sync of a client, in the order of the app. */
  private *sync(client: Client): Generator<unknown> {
    const started = this.clockOf(client);
    const next: Partial<Record<List, number>> = {};
    // A client without a completed sync uploads its whole list.
    if (client.since.subscriptions === 0 && client.kind !== 'music-assistant')
      for (const [item, value] of client.values.subscriptions.entries())
        if (value === 1) client.pending.subscriptions.add(item);
    for (const list of ['subscriptions', 'episodes'] as const) {
      yield* this.readList(client, list, next);
      yield* this.upload(client, list, next);
      // Most apps store the timestamp after reading each list, these two after both lists.
      if (!['cardo', 'gnome-podcasts'].includes(client.kind)) Object.assign(client.since, next);
    }
    if (client.kind === 'cardo')
      client.since.subscriptions = client.since.episodes = this.clockOf(client);
    if (client.kind === 'gnome-podcasts')
      client.since.subscriptions = client.since.episodes = started;
  }

  private clockOf(client: Client): number {
    return Math.max(1, Math.floor(this.now / 1_000) + client.skew);
  }

  private *readList(
    client: Client,
    list: List,
    next: Partial<Record<List, number>>,
  ): Generator<unknown> {
    for (let round = 0; ; round += 1) {
      if (round > 100) throw new Error('a sync does not end');
      const since = client.kind === 'music-assistant' ? 0 : client.since[list];
      const { timestamp, rows } = yield* this.download(client, list, since);
      if (!(timestamp >= 1)) throw new Error('an answer has timestamp 0');
      if (['antennapod', 'antennapod-nextcloud', 'gpodder'].includes(client.kind))
        next[list] = timestamp;
      if (client.kind !== 'kasts') return;
      client.since[list] = timestamp + 1;
      if (rows === 0 || timestamp > this.clockOf(client) - 10) return;
    }
  }

  /** Downloads and applies a list once. A lost answer ends the sync. */
  private *download(
    client: Client,
    list: List,
    since: number,
  ): Generator<unknown, { timestamp: number; rows: number }> {
    const receivedAt = (this.lastReceivedAt = Math.max(this.lastReceivedAt + 1, this.now));
    const deliver = () =>
      this.answerRead(client, list, { since, receivedAt, ageMs: this.now - receivedAt });
    if (this.hasFaults && this.random(12) === 0) {
      // The service receives the read after the app stopped waiting, or never.
      if (this.random(2) === 0) this.delayedReads.push({ receivedAt, deliver });
      this.end(client);
      yield;
    }
    yield;
    const answer = deliver();
    if (this.hasFaults && this.random(12) === 0) this.delayedReads.push({ receivedAt, deliver });
    yield;
    // The services read the rows after they determined the timestamp.
    const rows = answer.unchanged ? [] : this.rowsOf(list, answer, since);
    this.answeredRows += rows.length;
    yield;
    if (this.hasFaults && this.random(12) === 0) {
      this.end(client);
      yield;
    }
    // Music Assistant replaces its list with each answer.
    if (client.kind === 'music-assistant' && list === 'subscriptions')
      for (let item = 0; item < items; item += 1) this.apply(client, list, item, 0);
    for (const [item, value] of rows) this.apply(client, list, item, value);
    return { timestamp: answer.timestamp, rows: rows.length };
  }

  /**
   * Applies a value of an answer. A feed with a change that is not uploaded stays; for an episode
   * the later change wins.
   */
  private apply(client: Client, list: List, item: number, value: number): void {
    const { [list]: pending } = client.pending;
    const { [list]: values } = client.values;
    if (list === 'subscriptions' ? pending.has(item) : values[item]! >= value) return;
    values[item] = value;
    pending.delete(item);
  }

  private *upload(
    client: Client,
    list: List,
    next: Partial<Record<List, number>>,
  ): Generator<unknown> {
    const { kind } = client;
    const all = [...client.pending[list]].map((item): [number, number] => [
      item,
      client.values[list][item]!,
    ]);
    // One request for all subscriptions, but one for each episode.
    const requests =
      list === 'subscriptions' ? (all.length > 0 ? [all] : []) : all.map((one) => [one]);
    const burst = requests.length > 0 && this.random(20) === 0 ? 40 : 0;
    for (let n = 0; n < Math.max(burst, requests.length); n += 1) {
      const sent = requests[n % requests.length]!;
      yield;
      const timestamp = this.answerUpload(client, list, sent);
      if (burst > 0) this.tick(300);
      yield;
      if (this.hasFaults && this.random(15) === 0) {
        this.end(client);
        yield;
      }
      for (const [item, value] of sent)
        if (client.values[list][item] === value) client.pending[list].delete(item);
      if (kind === 'antennapod' || (kind === 'gpodder' && list === 'subscriptions'))
        next[list] = timestamp;
      if (kind === 'kasts' && timestamp > 1) client.since[list] = timestamp + 1;
      if (kind === 'antennapod-nextcloud') next[list] = this.clockOf(client);
    }
  }

  private sessionKey(client: Client, list: List): string | undefined {
    if (client.session === undefined) return undefined;
    return `${client.session} ${list}`;
  }

  private stateOf(client: Client, list: List): SyncState {
    const session = this.sessionKey(client, list);
    return {
      clock: { ...this.stored.clock, now: this.now },
      reader: this.stored.readers.get(`${client.credential} ${list}`),
      sessionStamp: session === undefined ? undefined : this.stored.sessionStamps.get(session),
    };
  }

  private store(client: Client, list: List, before: SyncState, after: SyncState): void {
    const session = this.sessionKey(client, list);
    const { stamp, answeredSecond } = after.clock;
    if (after.clock !== before.clock || after.reader !== before.reader) this.stateChanges += 1;
    this.stored.clock = { stamp, answeredSecond };
    if (after.reader) this.stored.readers.set(`${client.credential} ${list}`, after.reader);
    if (session !== undefined && after.sessionStamp !== undefined)
      this.stored.sessionStamps.set(session, after.sessionStamp);
  }

  private answerRead(client: Client, list: List, read: ListRead): ListAnswer {
    const before = this.stateOf(client, list);
    const { answer, after } = answerRead(before, read);
    this.store(client, list, before, after);
    if (answer.unchanged && this.rowsOf(list, answer, read.since).length > 0)
      throw new Error('an answer with rows is marked as unchanged');
    return answer;
  }

  private rowsOf(list: List, { since, initial }: ListAnswer, sent: number): [number, number][] {
    const from = since * 1_000;
    const matches = (row: Row) => {
      if (row.stamp === 0) return false;
      if (list === 'subscriptions' && row.value === 0) return sent > 0 && row.stamp > from;
      return initial || row.stamp > from;
    };
    return this.stored.rows[list].flatMap((row, item): [number, number][] =>
      matches(row) ? [[item, row.value]] : [],
    );
  }

  /** Writes items. @returns the clock's stamp before the write; undefined without a change. */
  private write(list: List, sent: readonly (readonly [number, number])[]): number | undefined {
    const changed = sent.filter(([item, value]) => {
      const row = this.row(list, item);
      return list === 'subscriptions' ? row.value !== value : row.value < value;
    });
    if (changed.length === 0) return undefined;
    const before = this.stored.clock.stamp;
    const stamp = Math.max(this.now, before + 1);
    this.stored.clock = { ...this.stored.clock, stamp };
    for (const [item, value] of changed) this.stored.rows[list][item] = { value, stamp };
    return before;
  }

  private answerUpload(client: Client, list: List, sent: [number, number][]): number {
    const stampBefore = this.write(list, sent);
    const before = this.stateOf(client, list);
    if (list === 'episodes' || stampBefore === undefined)
      return uploadTimestamp(before.sessionStamp);
    const { timestamp, after } = answerUpload(before, stampBefore);
    this.store(client, list, before, after);
    return timestamp;
  }
}
