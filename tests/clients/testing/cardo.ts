import { basic, exchange } from './http.exchange.js';
import { JsonReading } from './json.reading.js';
import { Library } from './listening.js';
import { plainTime, utcOf } from './web.episodes.js';

/** Where it syncs. */
export interface CardoSettings {
  readonly server: string;
  readonly user: string;
  readonly password: string;
  readonly variant: 'gpodder' | 'nextcloud';
}

/**
 * Cardo (github.com/cardo-podcast/cardo), as far as it syncs: src/sync/Gpodder.ts (b540c89), src/sync/Nextcloud.ts
 * (0cfef9c) and src/sync/Sync.tsx (b540c89). Its `since` is its own clock at the end of the last sync; all that waits goes
 * in one request.
 */
export class Cardo extends Library {
  lastSync: number | undefined;

  constructor(
    private readonly settings: CardoSettings,
    now?: () => number,
  ) {
    super(now);
  }

  /** login: whether the answer is good, and nothing else. */
  async login(): Promise<boolean> {
    const { user } = this.settings;
    return (await this.request('POST', `/api/2/auth/${user}/login.json`)).status === 200;
  }

  /** Sync.tsx: pulls, applies, pushes. */
  async sync(): Promise<void> {
    const since = this.lastSync;
    const subscriptions = JsonReading.of(await this.pull('subscriptions', since));
    for (const url of subscriptions.texts('add')) if (!this.removed.has(url)) this.keep(url);
    for (const url of subscriptions.texts('remove')) if (!this.added.has(url)) this.drop(url);
    const episodes = JsonReading.of(await this.pull('episodes', since));
    for (const action of episodes.objects('actions')) this.apply(action);
    const changes = { add: [...this.added], remove: [...this.removed] };
    if (changes.add.length + changes.remove.length > 0) await this.push('subscriptions', changes);
    if (this.actions.length > 0) await this.push('episodes', this.written());
    this.added.clear();
    this.removed.clear();
    this.actions = [];
    this.lastSync = Math.floor(this.now() / 1_000);
  }

  private apply(action: JsonReading): void {
    // v2: as it is, which without a zone is local time; Nextcloud: with `+00:00` appended.
    utcOf(action.text('timestamp'));
    const episode = this.find(undefined, action.text('episode'));
    if (!episode || action.text('action').toLowerCase() !== 'play') return;
    const [position, total] = [action.number('position'), action.number('total')];
    const isPlayed = position >= total;
    this.show(episode, { position: isPlayed ? 0 : position, isPlayed });
  }

  /** pushEpisodes: times with milliseconds and `Z` on v2, with neither on Nextcloud; PLAY in upper case. */
  private written(): unknown[] {
    const isNextcloud = this.settings.variant === 'nextcloud';
    return this.actions.map(({ episode, action, at, started, position, total }) => ({
      podcast: episode.feed,
      episode: episode.url,
      guid: episode.guid,
      action: action.toUpperCase(),
      timestamp: isNextcloud ? plainTime(at) : new Date(at).toISOString(),
      started,
      position,
      total,
    }));
  }

  /** pullEpisodes, pullSubscriptions: on v2 without a device. */
  private async pull(what: 'subscriptions' | 'episodes', since: number | undefined): Promise<string> {
    const { user, variant } = this.settings;
    const isEpisodes = what === 'episodes';
    const query = new URLSearchParams({ ...(since !== undefined && { since: String(since) }) });
    if (isEpisodes) query.set('aggregated', 'true');
    const path =
      variant === 'gpodder'
        ? `/api/2/${what}/${user}.json?${query.toString()}`
        : `/index.php/apps/gpoddersync/${isEpisodes ? 'episode_action' : what}?since=${since ?? 0}`;
    const { status, text } = await this.request('GET', path);
    if (status !== 200) throw new Error(`${path}: ${status}`);
    return text;
  }

  /** pushEpisodes, pushSubscriptions; its Nextcloud route for episodes is a slip of its own. */
  private async push(what: 'subscriptions' | 'episodes', body: unknown): Promise<void> {
    const { user, variant } = this.settings;
    const isEpisodes = what === 'episodes';
    const path =
      variant === 'gpodder'
        ? `/api/2/${what}/${user}${isEpisodes ? '' : '/cardo'}.json`
        : `/index.php/apps/gpoddersync/${isEpisodes ? 'episodes' : 'subscription_change'}/create`;
    const { status } = await this.request('POST', path, JSON.stringify(body));
    if (status !== 200) throw new Error(`Failed pushing ${what}: ${status}`);
  }

  private request(method: string, path: string, body?: string) {
    const { server, user, password, variant } = this.settings;
    const own = variant === 'nextcloud' ? { 'OCS-APIRequest': 'true' } : undefined;
    const type = body === undefined ? undefined : { 'Content-Type': 'application/json' };
    const headers = {
      Authorization: basic(user, password),
      Accept: '*/*',
      'User-Agent': 'tauri-plugin-http',
      ...own,
      ...type,
    };
    return exchange({ method, url: server + path, headers, ...(body !== undefined && { body }) });
  }
}
