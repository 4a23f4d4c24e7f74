import type { Clock, SyncState, Read, ListAnswer } from '../src/sync-state.rule.js';

/** The rule that a walk is about: that of sync-state.rule.ts, or one with a planted fault. */
export interface Rule {
  answerReader(found: SyncState, read: Read): { answer: ListAnswer; after: SyncState };
  answerUpload(found: SyncState, before: number): { timestamp: number; after: SyncState };
  uploadTimestamp(known: number | undefined): number;
  /** Whether what a session has is kept by the device that it says it is of. */
  readonly sessionsAreDevices?: boolean;
}

/** The clients of which walks are made. How each goes on from an answer is what sets them apart. */
export const kinds = ['ap', 'ap-nextcloud', 'kasts', 'gpodder', 'ma', 'cardo', 'gnome'] as const;
export type Kind = (typeof kinds)[number];

/** Those whose next `since` is a time of their own. With an app password that others use, too, they are promised nothing. */
const ownClock: ReadonlySet<Kind> = new Set(['ap-nextcloud', 'cardo', 'gnome']);
/** Those that keep the cookie that they are given. */
const withSession: ReadonlySet<Kind> = new Set(['ap', 'kasts', 'gpodder']);

const items = 4;
type List = 'subscriptions' | 'episodes';

/** Whole numbers below a bound, the same for the same seed (mulberry32). */
export function dice(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296) * below);
  };
}

interface Row {
  /** Of a feed 0 or 1, of an episode the number of the latest change. */
  value: number;
  /** When it flipped or changed; 0 for never. */
  stamp: number;
}

/** What Postgres has of the user. */
interface Stored {
  clock: Omit<Clock, 'now'>;
  rows: Record<List, Row[]>;
  readers: Map<string, SyncState['reader']>;
  known: Map<string, number>;
}

/** One client's own state. */
export class Client {
  readonly since: Record<List, number> = { subscriptions: 0, episodes: 0 };
  readonly has: Record<List, number[]> = {
    subscriptions: Array(items).fill(0),
    episodes: Array(items).fill(0),
  };
  readonly waiting: Record<List, Set<number>> = { subscriptions: new Set(), episodes: new Set() };
  session: number | undefined;
  /** The sync that runs. */
  running: Generator<unknown> | undefined;

  constructor(
    readonly kind: Kind,
    public credential: number,
    readonly device: number,
    /** How far its clock is off, in seconds. */
    readonly skew: number,
  ) {}

  get hasOwnClock(): boolean {
    return ownClock.has(this.kind);
  }
}

/** The service, its clients and the time, all walked by one seed. */
export class World {
  now = 1_700_000_000_000;
  readonly clients: Client[] = [];
  /** How many reads answered something, and how many changed what is stored. */
  answered = 0;
  moved = 0;
  private stored: Stored;
  private backup: Stored | undefined;
  private changes = 0;
  private sessions = 0;
  private sent = 0;
  /** Reads that are delivered late, or once more. */
  private readonly stray: { arrived: number; tell: () => void }[] = [];
  /** Whether faults happen: answers that are lost, apps that end, messages that come twice. */
  faulty = true;
  restored = false;

  constructor(
    private readonly rule: Rule,
    readonly roll: (below: number) => number,
  ) {
    const rows = () => Array.from({ length: items }, () => ({ value: 0, stamp: 0 }));
    // A user who never wrote; now and then one whose data comes from where the time was ahead.
    const stamp = roll(20) === 0 ? this.now + 7_000 : 0;
    this.stored = {
      clock: { stamp, told: 0 },
      rows: { subscriptions: rows(), episodes: rows() },
      readers: new Map(),
      known: new Map(),
    };
  }

  row(list: List, item: number): Readonly<Row> {
    return this.stored.rows[list][item] as Row;
  }

  tick(most = 3_000): void {
    this.now += this.roll(most);
  }

  /** A change on a client, which its next sync uploads. */
  changeLocally(client: Client): void {
    const list = this.roll(2) === 0 ? 'subscriptions' : 'episodes';
    const item = this.roll(items);
    client.has[list][item] =
      list === 'subscriptions' ? 1 - client.has[list][item]! : (this.changes += 1);
    client.waiting[list].add(item);
  }

  /** A change by the main API, or by a phone that is not walked. */
  changeElsewhere(): void {
    const list = this.roll(2) === 0 ? 'subscriptions' : 'episodes';
    const item = this.roll(items);
    const value = list === 'subscriptions' ? 1 - this.row(list, item).value : (this.changes += 1);
    this.write(list, [[item, value]]);
  }

  back(): void {
    if (!this.restored) this.backup = structuredClone(this.stored);
  }

  /** The database is as it was when it was last backed up; which took a while. */
  restore(): void {
    if (!this.backup || this.restored) return;
    this.stored = structuredClone(this.backup);
    this.restored = true;
    this.now += 10_000;
  }

  /** Whether a feed is as the restored backup had it. */
  isRestored(feed: number): boolean {
    return (
      this.restored &&
      this.backup?.rows.subscriptions[feed]?.stamp === this.row('subscriptions', feed).stamp
    );
  }

  /** What was not used for longest had to make room. */
  forget(): void {
    const shared = this.clients
      .filter((client) => !client.hasOwnClock)
      .map(({ credential }) => `${credential} `);
    for (const key of this.stored.readers.keys())
      if (shared.some((mine) => key.startsWith(mine)) && !this.ownClocks.has(key.split(' ')[0]!))
        this.stored.readers.delete(key);
    this.stored.known.clear();
  }
  private get ownClocks(): Set<string> {
    return new Set(
      this.clients.filter((client) => client.hasOwnClock).map(({ credential }) => `${credential}`),
    );
  }

  /** Something that was left behind is worked on: when another replica has noticed, and before its time is up. */
  deliver(): void {
    const [left] = this.stray.splice(this.roll(this.stray.length), 1);
    const age = this.now - (left?.arrived ?? 0);
    if (age > 1_000 && age < 20_000) left?.tell();
  }

  /** Begins a sync, or goes on with the one that runs, by one message or what is between two. */
  step(client: Client): void {
    if (withSession.has(client.kind) && client.session === undefined)
      client.session = this.sessions += 1;
    client.running ??= this.sync(client);
    if (this.faulty && this.roll(40) === 0) return this.end(client);
    if (client.running.next().done) client.running = undefined;
  }

  /** The app ends, wherever it is. */
  end(client: Client): void {
    client.running = undefined;
    if (client.session !== undefined && this.roll(2) === 0) client.session = undefined;
  }

  /** Everything of one client's sync, in the order of the app. */
  private *sync(client: Client): Generator<unknown> {
    const started = this.clockOf(client);
    const next: Partial<Record<List, number>> = {};
    // Who never finished a sync uploads all that it has.
    if (client.since.subscriptions === 0 && client.kind !== 'ma')
      for (const [item, value] of client.has.subscriptions.entries())
        if (value === 1) client.waiting.subscriptions.add(item);
    for (const list of ['subscriptions', 'episodes'] as const) {
      yield* this.read(client, list, next);
      yield* this.upload(client, list, next);
      // These keep what they were told as soon as a list is through, the others when all is.
      if (!['cardo', 'gnome'].includes(client.kind)) Object.assign(client.since, next);
    }
    if (client.kind === 'cardo')
      client.since.subscriptions = client.since.episodes = this.clockOf(client);
    if (client.kind === 'gnome') client.since.subscriptions = client.since.episodes = started;
  }

  private clockOf(client: Client): number {
    return Math.max(1, Math.floor(this.now / 1_000) + client.skew);
  }

  private *read(
    client: Client,
    list: List,
    next: Partial<Record<List, number>>,
  ): Generator<unknown> {
    for (let round = 0; ; round += 1) {
      if (round > 100) throw new Error('a sync does not end');
      const since = client.kind === 'ma' ? 0 : client.since[list];
      const answer = yield* this.ask(client, list, since);
      const { timestamp, rows } = answer;
      if (!(timestamp >= 1)) throw new Error('told 0');
      if (client.kind === 'ap' || client.kind === 'ap-nextcloud' || client.kind === 'gpodder')
        next[list] = timestamp;
      if (client.kind !== 'kasts') return;
      client.since[list] = timestamp + 1;
      if (rows === 0 || timestamp > this.clockOf(client) - 10) return;
    }
  }

  /** One download, and what the app does with it. An answer that is lost ends the sync. */
  private *ask(
    client: Client,
    list: List,
    since: number,
  ): Generator<unknown, { timestamp: number; rows: number }> {
    const arrived = (this.sent = Math.max(this.sent + 1, this.now));
    const tell = () => this.tell(client, list, { since, arrived, age: this.now - arrived });
    if (this.faulty && this.roll(12) === 0) {
      // It is worked on when the app no longer waits; or never.
      if (this.roll(2) === 0) this.stray.push({ arrived, tell });
      this.end(client);
      yield;
    }
    yield;
    const answer = tell();
    if (this.faulty && this.roll(12) === 0) this.stray.push({ arrived, tell });
    yield;
    const rows = this.list(list, answer, since);
    this.answered += rows.length;
    yield;
    if (this.faulty && this.roll(12) === 0) {
      this.end(client);
      yield;
    }
    // This one asks for all each time, and takes the answer for all there is.
    if (client.kind === 'ma' && list === 'subscriptions')
      for (let item = 0; item < items; item += 1) this.apply(client, list, item, 0);
    for (const [item, value] of rows) this.apply(client, list, item, value);
    return { timestamp: answer.timestamp, rows: rows.length };
  }

  /** A feed that waits to be uploaded stays as it is; of an episode the later change counts. */
  private apply(client: Client, list: List, item: number, value: number): void {
    if (
      list === 'subscriptions' ? client.waiting[list].has(item) : client.has[list][item]! >= value
    )
      return;
    client.has[list][item] = value;
    client.waiting[list].delete(item);
  }

  private *upload(
    client: Client,
    list: List,
    next: Partial<Record<List, number>>,
  ): Generator<unknown> {
    const { kind } = client;
    const all = [...client.waiting[list]].map((item): [number, number] => [
      item,
      client.has[list][item]!,
    ]);
    // One request for all subscriptions; a first sync's episodes come in many.
    const requests =
      list === 'subscriptions' ? (all.length > 0 ? [all] : []) : all.map((one) => [one]);
    const burst = requests.length > 0 && this.roll(20) === 0 ? 40 : 0;
    for (let n = 0; n < Math.max(burst, requests.length); n += 1) {
      const sent = requests[n % requests.length]!;
      yield;
      const timestamp = this.answerUpload(client, list, sent);
      if (burst > 0) this.tick(300);
      yield;
      if (this.faulty && this.roll(15) === 0) {
        this.end(client);
        yield;
      }
      for (const [item, value] of sent)
        if (client.has[list][item] === value) client.waiting[list].delete(item);
      if (kind === 'ap' || (kind === 'gpodder' && list === 'subscriptions')) next[list] = timestamp;
      if (kind === 'kasts' && timestamp > 1) client.since[list] = timestamp + 1;
      if (kind === 'ap-nextcloud') next[list] = this.clockOf(client);
    }
  }

  private sessionOf(client: Client, list: List): string | undefined {
    if (client.session === undefined) return undefined;
    return `${this.rule.sessionsAreDevices ? `device ${client.device}` : client.session} ${list}`;
  }

  private found(client: Client, list: List): SyncState {
    const session = this.sessionOf(client, list);
    return {
      clock: { ...this.stored.clock, now: this.now },
      reader: this.stored.readers.get(`${client.credential} ${list}`),
      known: session === undefined ? undefined : this.stored.known.get(session),
    };
  }

  private keep(client: Client, list: List, found: SyncState, after: SyncState): void {
    const session = this.sessionOf(client, list);
    const { stamp, told } = after.clock;
    if (after.clock !== found.clock || after.reader !== found.reader) this.moved += 1;
    this.stored.clock = { stamp, told };
    if (after.reader) this.stored.readers.set(`${client.credential} ${list}`, after.reader);
    if (session !== undefined && after.known !== undefined)
      this.stored.known.set(session, after.known);
  }

  private tell(client: Client, list: List, read: Read): ListAnswer {
    const found = this.found(client, list);
    const { answer, after } = this.rule.answerReader(found, read);
    this.keep(client, list, found, after);
    if (answer.unchanged && this.rows(list, answer, read.since).length > 0)
      throw new Error('said to be unchanged');
    return answer;
  }

  /** The rows of an answer, as the services read them once its timestamp is decided. */
  private list(list: List, answer: ListAnswer, sent: number): [number, number][] {
    return answer.unchanged ? [] : this.rows(list, answer, sent);
  }

  private rows(list: List, { since, initial }: ListAnswer, sent: number): [number, number][] {
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

  /** @returns the clock's stamp before, where something was written. */
  private write(list: List, sent: readonly (readonly [number, number])[]): number | undefined {
    const real = sent.filter(([item, value]) => {
      const row = this.row(list, item);
      return list === 'subscriptions' ? row.value !== value : row.value < value;
    });
    if (real.length === 0) return undefined;
    const before = this.stored.clock.stamp;
    const stamp = Math.max(this.now, before + 1);
    this.stored.clock = { ...this.stored.clock, stamp };
    for (const [item, value] of real) this.stored.rows[list][item] = { value, stamp };
    return before;
  }

  private answerUpload(client: Client, list: List, sent: [number, number][]): number {
    const before = this.write(list, sent);
    const found = this.found(client, list);
    if (list === 'episodes' || before === undefined) return this.rule.uploadTimestamp(found.known);
    const { timestamp, after } = this.rule.answerUpload(found, before);
    this.keep(client, list, found, after);
    return timestamp;
  }
}
