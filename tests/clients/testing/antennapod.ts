import { basic, type ClientAnswer, exchange } from './http.exchange.js';
import { JsonReading } from './json.reading.js';
import { type Action, batches, Library } from './listening.js';
import { plainTime, utcOf } from './web.episodes.js';

/** Where it syncs, as its settings keep it. */
export interface AntennaPodSettings {
  /** The address as it was typed. */
  readonly server: string;
  readonly user: string;
  readonly password: string;
  readonly deviceId: string;
}

/** A list of subscriptions that changed. */
interface SubscriptionChanges {
  readonly added: readonly string[];
  readonly removed: readonly string[];
  readonly timestamp: number;
}

interface EpisodeActionChanges {
  readonly actions: readonly JsonReading[];
  readonly timestamp: number;
}

/** ISyncService.java. */
interface SyncService {
  login(): Promise<void>;
  subscriptionChanges(since: number): Promise<SubscriptionChanges>;
  uploadSubscriptions(added: readonly string[], removed: readonly string[]): Promise<number>;
  actionChanges(since: number): Promise<EpisodeActionChanges>;
  uploadActions(actions: readonly Action[]): Promise<number>;
}

/** What OkHttp and AntennaPod's UserAgentInterceptor.java add to each request. */
const always = { 'User-Agent': 'AntennaPod/3.12.0', 'Accept-Encoding': 'gzip' };

/** UPLOAD_BULK_SIZE of both services. */
const bulk = 30;

/** How close to its end an episode counts as played, by default (UserPreferences.java, PREF_SMART_MARK_AS_PLAYED_SECS). */
const almostEndedSeconds = 30;

/**
 * AntennaPod (github.com/AntennaPod/AntennaPod, b7ee12c), as far as it syncs: net/sync/service, SyncService.java, from
 * `doWork` on. What it shows is its library.
 */
export class AntennaPod extends Library {
  /** SynchronizationSettings.java: kept over restarts. */
  lastSubscriptionSync = 0;
  lastActionSync = 0;
  private service: SyncService;

  constructor(
    private readonly settings: AntennaPodSettings,
    private readonly variant: 'gpodder.net' | 'nextcloud',
    now?: () => number,
  ) {
    super(now);
    this.service = this.open();
  }

  /** The app is started anew: its cookies are gone, as they are only in memory. */
  restart(): void {
    this.service = this.open();
  }

  /** One run of its worker. @throws Error where it fails, and what waits goes on waiting. */
  async sync(): Promise<void> {
    await this.service.login();
    await this.syncSubscriptions();
    await this.syncActions();
  }

  /** SyncService.java, syncSubscriptions. */
  private async syncSubscriptions(): Promise<void> {
    const since = this.lastSubscriptionSync;
    const before = [...this.feeds];
    const changes = await this.service.subscriptionChanges(since);
    for (const url of changes.added)
      if (url.startsWith('http') && !this.feeds.has(url) && !this.removed.has(url)) this.keep(url);
    for (const url of changes.removed) if (!this.added.has(url)) this.drop(url);
    const added = since === 0 ? before.filter((url) => !changes.added.includes(url)) : [...this.added];
    const removed = [...this.removed];
    let { timestamp } = changes;
    if (added.length > 0 || removed.length > 0) {
      timestamp = await this.service.uploadSubscriptions(added, removed);
      this.added.clear();
      this.removed.clear();
    }
    this.lastSubscriptionSync = timestamp;
  }

  /** SyncService.java, syncEpisodeActions. */
  private async syncActions(): Promise<void> {
    const since = this.lastActionSync;
    const changes = await this.service.actionChanges(since);
    this.apply(changes.actions);
    const queued = [...this.actions];
    if (since === 0)
      for (const { episode, isPlayed } of this.shown.values()) {
        const { seconds } = episode;
        if (isPlayed)
          queued.push({ episode, action: 'play', at: this.now(), started: seconds, position: seconds, total: seconds });
      }
    let { timestamp } = changes;
    if (queued.length > 0) {
      timestamp = await this.service.uploadActions(queued);
      this.actions = [];
    }
    this.lastActionSync = timestamp;
  }

  /** EpisodeActionFilter.java, then SyncService.java, processEpisodeActions: of PLAY alone, the newest of each episode. */
  private apply(remote: readonly JsonReading[]): void {
    const newest = new Map<string, { at: number; action: JsonReading }>();
    for (const action of remote) {
      if (action.text('action').toUpperCase() !== 'PLAY') continue;
      const [key, at] = [action.text('episode'), utcOf(action.text('timestamp'))];
      const queued = this.actions.filter(({ episode }) => episode.url === key).map((own) => own.at);
      if (at > (newest.get(key)?.at ?? 0) && queued.every((own) => own < at)) newest.set(key, { at, action });
    }
    for (const { action } of newest.values()) {
      const guid = action.optionalText('guid');
      const episode = this.find(guid === '' ? undefined : guid, action.text('episode'));
      if (!episode) continue;
      // EpisodeAction.java, readFromJsonObject: what is not all there is -1 for all three.
      const [started, position, total] = ['started', 'position', 'total'].map(
        (name) => action.optionalNumber(name) ?? -1,
      );
      const isWhole = (started as number) >= 0 && (position as number) > 0 && (total as number) > 0;
      const at = isWhole ? (position as number) : -1;
      const isPlayed = at >= episode.seconds - almostEndedSeconds;
      this.show(episode, { position: isPlayed ? 0 : at, isPlayed });
    }
  }

  private open(): SyncService {
    return this.variant === 'nextcloud'
      ? new NextcloudSyncService(this.settings, this.now)
      : new GpodnetService(this.settings);
  }
}

/** net/sync/gpoddernet, GpodnetService.java: Basic once for each sync, then the cookie. */
class GpodnetService implements SyncService {
  private cookie = '';

  constructor(private readonly settings: AntennaPodSettings) {}

  async login(): Promise<void> {
    const { user, password } = this.settings;
    // `TEXT` and an empty body; with `Authorization` in this request alone.
    await this.request('POST', `/api/2/auth/${user}/login.json`, '', {
      'Content-Type': 'plain/text; charset=utf-8',
      Authorization: basic(user, password),
    });
  }

  async subscriptionChanges(since: number): Promise<SubscriptionChanges> {
    return readSubscriptionChanges(await this.request('GET', `${this.subscriptions}?since=${since}`));
  }

  async uploadSubscriptions(added: readonly string[], removed: readonly string[]): Promise<number> {
    const body = JSON.stringify({ add: added, remove: removed });
    return uploadedAt(await this.request('POST', this.subscriptions, body));
  }

  async actionChanges(since: number): Promise<EpisodeActionChanges> {
    return readActionChanges(await this.request('GET', `/api/2/episodes/${this.settings.user}.json?since=${since}`));
  }

  async uploadActions(actions: readonly Action[]): Promise<number> {
    let timestamp = 0;
    for (const batch of batches(actions, bulk)) {
      const entries = batch.map((action) => ({ ...written(action), device: this.settings.deviceId }));
      const path = `/api/2/episodes/${this.settings.user}.json`;
      timestamp = uploadedAt(await this.request('POST', path, JSON.stringify(entries)));
    }
    return timestamp;
  }

  private get subscriptions(): string {
    return `/api/2/subscriptions/${this.settings.user}/${this.settings.deviceId}.json`;
  }

  /** executeRequest and checkStatusCode; cookies as java.net.CookieManager has them: by `Path`. */
  private async request(
    method: string,
    path: string,
    body?: string,
    headers: Record<string, string> = {
      ...(body !== undefined && { 'Content-Type': 'application/json; charset=utf-8' }),
    },
  ): Promise<string> {
    const cookie = { ...(this.cookie && { Cookie: `sessionid=${this.cookie}` }) };
    const url = this.settings.server + path;
    const answer = await exchange({
      method,
      url,
      headers: { ...always, ...cookie, ...headers },
      ...(body !== undefined && { body }),
    });
    const isForAll = /;\s*path=\/(;|$)/i.test(answer.headers['set-cookie'] ?? '');
    if (answer.session && isForAll) this.cookie = answer.session;
    return demandOk(answer);
  }
}

/** net/sync/gpoddernet, NextcloudSyncService.java: Basic each time, and its own clock after an upload. */
class NextcloudSyncService implements SyncService {
  constructor(
    private readonly settings: AntennaPodSettings,
    private readonly now: () => number,
  ) {}

  async login(): Promise<void> {}

  async subscriptionChanges(since: number): Promise<SubscriptionChanges> {
    return readSubscriptionChanges(await this.request('GET', `subscriptions?since=${since}`));
  }

  async uploadSubscriptions(added: readonly string[], removed: readonly string[]): Promise<number> {
    await this.request('POST', 'subscription_change/create', JSON.stringify({ add: added, remove: removed }));
    return Math.floor(this.now() / 1_000);
  }

  async actionChanges(since: number): Promise<EpisodeActionChanges> {
    return readActionChanges(await this.request('GET', `episode_action?since=${since}`));
  }

  async uploadActions(actions: readonly Action[]): Promise<number> {
    for (const batch of batches(actions, bulk))
      await this.request('POST', 'episode_action/create', JSON.stringify(batch.map(written)));
    return Math.floor(this.now() / 1_000);
  }

  /** performRequest. */
  private async request(method: string, path: string, body?: string): Promise<string> {
    const { server, user, password } = this.settings;
    const type = { ...(body !== undefined && { 'Content-Type': 'application/json; charset=utf-8' }) };
    const headers = { ...always, Authorization: basic(user, password), Accept: 'application/json', ...type };
    const url = `${server}/index.php/apps/gpoddersync/${path}`;
    return demandOk(await exchange({ method, url, headers, ...(body !== undefined && { body }) }));
  }
}

function demandOk({ status, text }: ClientAnswer): string {
  if (status !== 200) throw new Error(`Response code: ${status}`);
  return text;
}

/** ResponseMapper.java. */
function readSubscriptionChanges(text: string): SubscriptionChanges {
  const json = JsonReading.of(text);
  const [added, removed] = ['add', 'remove'].map((name) => json.texts(name).map((url) => url.replaceAll('%3A', ':')));
  return { added: added as string[], removed: removed as string[], timestamp: json.number('timestamp') };
}

function readActionChanges(text: string): EpisodeActionChanges {
  const json = JsonReading.of(text);
  return { actions: json.objects('actions'), timestamp: json.number('timestamp') };
}

/** GpodnetUploadChangesResponse.java, GpodnetEpisodeActionPostResponse.java: without either the sync fails. */
function uploadedAt(text: string): number {
  const json = JsonReading.of(text);
  json.pairs('update_urls');
  return json.number('timestamp');
}

/** EpisodeAction.java, writeToJsonObject. */
function written({ episode, action, at, started, position, total }: Action): Record<string, unknown> {
  const named = { podcast: episode.feed, episode: episode.url, guid: episode.guid, action, timestamp: plainTime(at) };
  return { ...named, ...(action === 'play' && { started, position, total }) };
}
