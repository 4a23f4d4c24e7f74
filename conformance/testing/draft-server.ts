import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

// A second implementation of the draft, in memory, written from its pages alone: one row for each
// guid and `new_guid` as a pointer to the next row, as the table of "Get all subscriptions" has it.
// It shares no code, no data model and none of the additions with Podcast Sync.

/** Faults of a broken server. */
export type Fault =
  /** `since` is compared with the clients' times, to the letter of "Get all episodes". */
  | 'since-client-time'
  /** Lists are in order of change, and `next` continues after the time of the page's last row. */
  | 'pages-by-time'
  /** A status with the same time as the stored status is ignored. */
  | 'equal-ignored'
  /** The last status that arrives wins. */
  | 'arrival-wins'
  /** All tokens belong to the same user. */
  | 'user-restriction'
  /** Former guids and URLs, tombstones and the episodes of deleted podcasts are treated as new. */
  | 'forgets'
  /** Wrong statuses and types, and errors as text. */
  | 'sloppy';

interface Podcast {
  feed_url: string;
  guid: string;
  is_subscribed: boolean;
  subscription_changed: number;
  guid_changed?: number;
  new_guid?: string;
  deleted?: number;
}

const identifiers = ['episode_guid', 'title', 'publish_date', 'enclosure_url', 'episode_url'];
const statuses = {
  playback_position: 'number',
  played_status: 'boolean',
  new_status: 'boolean',
  download_status: 'boolean',
  favorite_status: 'boolean',
} as const;
type Field = keyof typeof statuses;
type Json = Record<string, unknown>;

interface Status {
  value: unknown;
  timestamp: string;
}

interface Played {
  podcast_guid: string;
  sync_id: string;
  texts: Record<string, string>;
  statuses: Partial<Record<Field, Status>>;
  changed: number;
}

class Failure extends Error {
  constructor(readonly status: number) {
    super();
  }
}

const messages: Record<number, string> = {
  401: 'User not authorized',
  404: 'Resource not found',
  405: 'Input could not be validated',
  410: 'Subscription has been deleted',
};

const isGuid = (value: unknown): value is string =>
  typeof value === 'string' && /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i.test(value);

/** Returns a client's time in milliseconds, or `undefined` if it is invalid. Minutes are in UTC. */
function timeOf(text: unknown): number | undefined {
  if (typeof text !== 'string' || !/^\d{4}-\d\d-\d\dT\d\d:\d\d/.test(text)) return undefined;
  const time = Date.parse(text.length === 16 ? `${text}Z` : text);
  return Number.isNaN(time) ? undefined : time;
}

const iso = (time: number | undefined) =>
  time === undefined ? undefined : new Date(time).toISOString();

/** The data of one user. */
class Account {
  readonly podcasts = new Map<string, Podcast>();
  readonly urls = new Map<string, string>();
  readonly played = new Map<string, Played>();
  readonly deletions: { id: number; status: string }[] = [];

  /** Returns the row of the current guid for a current or former guid. */
  newest(guid: string): Podcast {
    const podcast = this.podcasts.get(guid.toLowerCase());
    if (!podcast) throw new Failure(404);
    return podcast.new_guid === undefined ? podcast : this.newest(podcast.new_guid);
  }
}

/** A server of the published draft. Faults break it on purpose. */
export class DraftServer {
  private readonly accounts = new Map<string, Account>();
  private readonly faults: ReadonlySet<Fault>;
  private http: Server | undefined;
  private clock = 0;

  /** @param tokens the accepted tokens, one for each user. */
  constructor(
    private readonly tokens: readonly string[],
    ...faults: Fault[]
  ) {
    this.faults = new Set(faults);
  }

  /** Starts the server and returns its base URL. */
  async start(): Promise<string> {
    const http = createServer((request, response) => {
      void this.answer(request).then(({ status, body }) => {
        response.writeHead(status, { 'content-type': 'application/json' });
        response.end(JSON.stringify(body));
      });
    });
    this.http = http;
    await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(http.address() as AddressInfo).port}/v1`;
  }

  stop(): void {
    this.http?.closeAllConnections();
    this.http?.close();
  }

  /** Returns the number of live subscriptions: 0 after a run of the suite. */
  live(): number {
    const accounts = [...this.accounts.values()];
    return accounts.flatMap((account) =>
      [...account.podcasts.values()].filter((row) => !row.deleted && !row.new_guid),
    ).length;
  }

  /** Returns a time later than all returned before, so that `since` misses no change. */
  private now(): number {
    this.clock = Math.max(this.clock + 1, Date.now());
    return this.clock;
  }

  private async answer(request: IncomingMessage): Promise<{ status: number; body: unknown }> {
    const sloppy = this.faults.has('sloppy');
    const isWrong = sloppy && request.method === 'DELETE';
    try {
      let text = '';
      for await (const chunk of request) text += String(chunk);
      const { status, body } = this.route(request, text);
      return { status: isWrong ? 200 : status, body };
    } catch (error) {
      const status = error instanceof Failure ? error.status : 500;
      const body = { code: status, message: messages[status] ?? String(error) };
      return { status, body: sloppy ? 'error' : body };
    }
  }

  private route(request: IncomingMessage, text: string): { status: number; body: unknown } {
    const url = new URL(request.url ?? '', `http://${request.headers.host}`);
    const token = /^Bearer (.+)$/i.exec(request.headers.authorization ?? '')?.[1] ?? '';
    if (!this.tokens.includes(token)) throw new Failure(401);
    const user = this.faults.has('user-restriction') ? '' : token;
    const account = this.accounts.get(user) ?? new Account();
    this.accounts.set(user, account);
    const [, , resource = '', key] = url.pathname.split('/');
    const operation = `${request.method} ${resource}${key === undefined ? '' : '/'}`;
    const ok = (body: unknown, status = 200) => ({ status, body });
    switch (operation) {
      case 'GET subscriptions':
        return ok(this.listPodcasts(account, url));
      case 'POST subscriptions':
        return ok(this.subscribe(account, parse(text)));
      case 'GET subscriptions/':
        return ok(this.show(account, guidIn(key)));
      case 'PATCH subscriptions/':
        return ok(this.update(account, guidIn(key), parse(text)));
      case 'DELETE subscriptions/':
        return ok(this.remove(account, guidIn(key)), 202);
      case 'GET deletions/':
        return ok(this.deletion(account, String(key)));
      case 'GET episodes':
        return ok(this.listEpisodes(account, url));
      case 'POST episodes':
        return ok(this.upload(account, parse(text)));
      default:
        throw new Failure(404);
    }
  }

  private subscribe(account: Account, body: Json): unknown {
    if (!Array.isArray(body['subscriptions'])) throw new Failure(405);
    const success: unknown[] = [];
    const failure: unknown[] = [];
    const stamp = this.now();
    for (const entry of body['subscriptions'] as Json[]) {
      const feedUrl = entry?.['feed_url'];
      if (typeof feedUrl !== 'string') throw new Failure(405);
      const given = entry['guid'];
      if (!/^https?:\/\/./.test(feedUrl))
        failure.push({ feed_url: feedUrl, message: 'No protocol present' });
      else if (given !== undefined && !isGuid(given))
        failure.push({ feed_url: feedUrl, message: 'The guid is no UUID' });
      else success.push(this.add(account, feedUrl, given, stamp));
    }
    if (this.faults.has('sloppy')) for (const item of failure) delete (item as Json)['message'];
    return { success, ...(failure.length > 0 && { failure }) };
  }

  private add(
    account: Account,
    feedUrl: string,
    given: string | undefined,
    stamp: number,
  ): unknown {
    const guid = given?.toLowerCase();
    const owner = account.urls.get(feedUrl);
    const match = guid !== undefined && account.podcasts.has(guid) ? guid : owner;
    let row = match === undefined ? undefined : account.newest(match);
    if (row === undefined) {
      row = this.insert(account, feedUrl, guid ?? randomUUID());
    } else if (guid !== undefined && !account.podcasts.has(guid)) {
      // A guid of a client is authoritative.
      row = this.point(account, row, guid);
    }
    row.is_subscribed = true;
    row.subscription_changed = stamp;
    row.feed_url = feedUrl;
    delete row.deleted;
    account.urls.set(feedUrl, row.guid);
    const { feed_url, is_subscribed, subscription_changed } = row;
    return {
      feed_url,
      guid: row.guid,
      is_subscribed,
      subscription_changed: iso(subscription_changed),
    };
  }

  private insert(account: Account, feedUrl: string, guid: string): Podcast {
    const row: Podcast = {
      feed_url: feedUrl,
      guid,
      is_subscribed: true,
      subscription_changed: this.now(),
    };
    account.podcasts.set(guid, row);
    return row;
  }

  /** Makes a row a pointer to the row of a guid. Inserts the latter if missing, and returns it. */
  private point(account: Account, row: Podcast, guid: string): Podcast {
    if (row.guid === guid) return row;
    const existing = account.podcasts.get(guid);
    const next = existing ? account.newest(guid) : this.insert(account, row.feed_url, guid);
    if (next === row) return row;
    if (!existing) next.is_subscribed = row.is_subscribed;
    row.new_guid = next.guid;
    row.guid_changed = this.now();
    for (const episode of account.played.values())
      if (episode.podcast_guid === row.guid) episode.podcast_guid = next.guid;
    if (this.faults.has('forgets')) account.podcasts.delete(row.guid);
    return next;
  }

  private show(account: Account, guid: string): unknown {
    const row = account.podcasts.get(guid);
    const newest = account.newest(guid);
    if (newest.deleted !== undefined) throw new Failure(410);
    return shown(row ?? newest, newest);
  }

  private update(account: Account, guid: string, body: Json): unknown {
    const { new_feed_url: newUrl, new_guid: newGuid, is_subscribed: subscribed } = body;
    const isValid =
      (newUrl === undefined || (typeof newUrl === 'string' && /^https?:\/\/./.test(newUrl))) &&
      (newGuid === undefined || isGuid(newGuid)) &&
      (subscribed === undefined || typeof subscribed === 'boolean');
    if (!isValid || (newUrl ?? newGuid ?? subscribed) === undefined) throw new Failure(405);
    let row = account.newest(guid);
    if (row.deleted !== undefined) throw new Failure(404);
    const answer: Json = {};
    if (newGuid !== undefined) {
      const before = row;
      row = this.point(account, row, String(newGuid).toLowerCase());
      answer['new_guid'] = row.guid;
      answer['guid_changed'] = iso(before.guid_changed ?? this.now());
    }
    if (newUrl !== undefined) {
      row.feed_url = String(newUrl);
      account.urls.set(row.feed_url, row.guid);
      answer['new_feed_url'] = newUrl;
    }
    if (subscribed !== undefined) answer['is_subscribed'] = row.is_subscribed = subscribed === true;
    if (newUrl !== undefined || subscribed !== undefined)
      answer['subscription_changed'] = iso((row.subscription_changed = this.now()));
    return answer;
  }

  private remove(account: Account, guid: string): unknown {
    const row = account.newest(guid);
    if (row.deleted !== undefined) throw new Failure(404);
    const record = { id: account.deletions.length + 1, status: 'PENDING' };
    account.deletions.push(record);
    setTimeout(() => {
      record.status = 'SUCCESS';
      row.deleted = this.now();
      row.is_subscribed = false;
      if (this.faults.has('forgets')) {
        account.podcasts.delete(row.guid);
        account.urls.clear();
      } else {
        for (const [id, episode] of account.played)
          if (episode.podcast_guid === row.guid) account.played.delete(id);
      }
    }, 5);
    const id = this.faults.has('sloppy') ? String(record.id) : record.id;
    return { deletion_id: id, message: 'Deletion request was received and will be processed' };
  }

  private deletion(account: Account, key: string): unknown {
    if (!/^\d+$/.test(key)) throw new Failure(405);
    const record = account.deletions[Number(key) - 1];
    if (!record) throw new Failure(404);
    const status = this.faults.has('sloppy') ? record.status.toLowerCase() : record.status;
    return { deletion_id: record.id, status };
  }

  private listPodcasts(account: Account, url: URL): unknown {
    const since = timeOf(url.searchParams.get('since')) ?? 0;
    const pointed = new Set([...account.podcasts.values()].map((row) => row.new_guid));
    const rows = [...account.podcasts.values()]
      .filter((row) => !pointed.has(row.guid))
      .map((root) => {
        let row = root;
        let changed = 0;
        for (let next: Podcast | undefined = root; next;) {
          changed = Math.max(changed, next.guid_changed ?? 0, next.subscription_changed);
          changed = Math.max(changed, next.deleted ?? 0);
          if (next.new_guid && (next.guid_changed ?? 0) <= since)
            row = account.podcasts.get(next.new_guid) ?? row;
          next = next.new_guid === undefined ? undefined : account.podcasts.get(next.new_guid);
        }
        return { changed, item: shown(row, account.newest(root.guid)) };
      });
    return this.page(url, 'subscriptions', rows, since);
  }

  private listEpisodes(account: Account, url: URL): unknown {
    const since = timeOf(url.searchParams.get('since')) ?? 0;
    const byClient = this.faults.has('since-client-time');
    const rows = [...account.played.values()].map((episode) => {
      const times = Object.values(episode.statuses).map((status) => timeOf(status.timestamp) ?? 0);
      const changed = byClient ? Math.max(0, ...times) : episode.changed;
      return { changed, item: this.episode(account, episode) };
    });
    return this.page(url, 'episodes', rows, since);
  }

  private page(
    url: URL,
    list: string,
    rows: { changed: number; item: unknown }[],
    since: number,
  ): unknown {
    const number = (name: string, usual: number) =>
      Math.max(1, Math.floor(Number(url.searchParams.get(name) ?? usual)) || usual);
    const [page, perPage] = [number('page', 1), Math.min(number('per_page', 50), 100)];
    const found = rows.filter(({ changed }) => changed > since);
    const byTime = this.faults.has('pages-by-time');
    if (byTime) found.sort((a, b) => a.changed - b.changed);
    const first = (page - 1) * perPage;
    const items = found.slice(first, first + perPage);
    const next = new URL(url);
    next.searchParams.set('since', iso(items.at(-1)?.changed) ?? '');
    const hasNext = byTime && found.length > items.length;
    return {
      total: found.length,
      page,
      per_page: perPage,
      ...(hasNext && { next: next.href }),
      [list]: items.map(({ item }) => item),
    };
  }

  private upload(account: Account, body: Json): unknown {
    if (!Array.isArray(body['episodes'])) throw new Failure(405);
    const success: unknown[] = [];
    const failure: unknown[] = [];
    const stamp = this.now();
    for (const entry of body['episodes'] as Json[]) {
      const echo =
        entry['temporary_id'] === undefined ? {} : { temporary_id: entry['temporary_id'] };
      const message = this.problem(account, entry);
      if (message !== undefined) {
        failure.push({ podcast_guid: entry['podcast_guid'], message, ...echo });
        continue;
      }
      const episode = this.find(account, entry);
      if (this.apply(episode, entry)) episode.changed = stamp;
      success.push({ ...this.episode(account, episode), ...echo });
    }
    return { success, failure };
  }

  private problem(account: Account, entry: Json): string | undefined {
    const guid = entry['podcast_guid'];
    const row = isGuid(guid) ? account.podcasts.get(guid.toLowerCase()) : undefined;
    if (!row || account.newest(row.guid).deleted) return 'There is no such subscription';
    const syncId = entry['sync_id'];
    if (syncId !== undefined && !isGuid(syncId)) return 'The sync_id is no UUID';
    if (!account.played.has(String(syncId)) && typeof entry['episode_guid'] !== 'string')
      return 'The identifiers are missing';
    for (const [field, type] of Object.entries(statuses)) {
      const status = entry[field] as Partial<Status> | undefined;
      if (status === undefined) continue;
      if (typeof status.value !== type || timeOf(status.timestamp) === undefined)
        return `${field} is invalid`;
    }
    return undefined;
  }

  private find(account: Account, entry: Json): Played {
    const podcast = account.newest(String(entry['podcast_guid'])).guid;
    const syncId = String(entry['sync_id'] ?? randomUUID()).toLowerCase();
    const same = [...account.played.values()].find(
      (episode) =>
        episode.podcast_guid === podcast && episode.texts['episode_guid'] === entry['episode_guid'],
    );
    const found = account.played.get(syncId) ?? same;
    if (found) return found;
    const made: Played = {
      podcast_guid: podcast,
      sync_id: syncId,
      texts: {},
      statuses: {},
      changed: 0,
    };
    account.played.set(syncId, made);
    return made;
  }

  /** Applies the newer statuses of an entry, and returns whether anything changed. */
  private apply(episode: Played, entry: Json): boolean {
    let isChanged = false;
    for (const name of identifiers) {
      const text = entry[name];
      if (typeof text !== 'string' || episode.texts[name] === text) continue;
      episode.texts[name] = text;
      isChanged = true;
    }
    for (const field of Object.keys(statuses) as Field[]) {
      const sent = entry[field] as Status | undefined;
      if (!sent) continue;
      const stored = episode.statuses[field];
      const [to, from] = [timeOf(sent.timestamp) ?? 0, timeOf(stored?.timestamp) ?? -Infinity];
      const isLater = this.faults.has('equal-ignored') ? to > from : to >= from;
      if (!isLater && !this.faults.has('arrival-wins')) continue;
      if (stored?.value === sent.value && to === from) continue;
      episode.statuses[field] = { value: sent.value, timestamp: sent.timestamp };
      isChanged = true;
    }
    return isChanged;
  }

  private episode(account: Account, episode: Played): Json {
    const podcast = account.podcasts.get(episode.podcast_guid);
    const { podcast_guid, sync_id, texts } = episode;
    const unknown = { title: '', publish_date: iso(0), enclosure_url: '', episode_url: '' };
    return {
      podcast_guid: podcast?.guid ?? podcast_guid,
      sync_id,
      ...unknown,
      ...texts,
      ...episode.statuses,
    };
  }
}

function shown(row: Podcast, newest: Podcast): Json {
  return {
    feed_url: newest.feed_url,
    guid: row.guid,
    is_subscribed: newest.is_subscribed,
    subscription_changed: iso(newest.subscription_changed),
    ...(newest !== row && { new_guid: newest.guid, guid_changed: iso(row.guid_changed) }),
    ...(newest.deleted !== undefined && { deleted: iso(newest.deleted) }),
  };
}

function guidIn(key: string | undefined): string {
  if (!isGuid(key)) throw new Failure(405);
  return key.toLowerCase();
}

function parse(text: string): Json {
  try {
    const body = JSON.parse(text) as Json | null;
    if (typeof body === 'object' && body !== null) return body;
  } catch {
    // Invalid JSON is rejected like a body that is not an object.
  }
  throw new Failure(405);
}
