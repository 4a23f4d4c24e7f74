import { basic, exchange } from './http.exchange.js';
import { JsonReading } from './json.reading.js';
import { type Action, batches, Library } from './listening.js';
import { plainTime, utcOf } from './web.episodes.js';

/** Where it syncs. */
export interface KastsSettings {
  readonly server: string;
  readonly user: string;
  readonly password: string;
  readonly device: string;
  readonly variant: 'gpodder.net' | 'nextcloud';
}

/** An action as it keeps those of others. */
interface Remote {
  readonly url: string;
  readonly guid: string;
  readonly action: string;
  readonly position: number;
  readonly total: number;
  /** Seconds. */
  readonly at: number;
}

/** maxAmountEpisodeUploads (sync/syncutils.h). */
const bulk = 30;

/** SKIP_TRACK_END (audiomanager.h): what is left of an episode that counts as played. */
const skippedSeconds = 10;

/** How long it may go on fetching actions until there are no more: ten times what a burst of a test is ahead by. */
const roundsLimitMs = 30_000;

/** How close an answer's timestamp has to be to its clock to be the last page (syncjob.cpp, fetchRemoteEpisodeActions). */
const closeSeconds = 10;

/**
 * KDE Kasts (github.com/KDE/kasts, cded41d), as far as it syncs: src/sync/syncjob.cpp, from `doRegularSync` on, and the
 * requests of src/sync/gpodder/gpodder.cpp. What it shows is its library.
 */
export class Kasts extends Library {
  /** The table SyncTimestamps: always what it was told plus 1 (updateDBTimestamp). */
  readonly timestamps: Partial<Record<'subscriptions' | 'actions' | 'quickSubscriptions' | 'quickActions', number>> =
    {};
  /** How many times it fetched actions in its last sync. */
  rounds = 0;
  private cookie = '';

  constructor(
    private readonly settings: KastsSettings,
    now?: () => number,
  ) {
    super(now);
  }

  /** sync.cpp, login and registerNewDevice: it looks at the devices first, which tells whether the password is right. */
  async signIn(): Promise<void> {
    const { user, device } = this.settings;
    await this.request('GET', `/api/2/devices/${user}.json`);
    const described = JSON.stringify({ caption: `Kasts on ${device}`, type: 'laptop' });
    await this.request('POST', `/api/2/devices/${user}/${device}.json`, described);
  }

  /** sync.cpp, linkUpAllDevices: it makes one group of all devices and gives each the union of all lists. */
  async linkDevices(): Promise<void> {
    const { user } = this.settings;
    const path = `/api/2/sync-devices/${user}.json`;
    const before = JsonReading.of(await this.request('GET', path));
    const ids = [...(before.list('synchronized') as string[][]).flat(), ...before.texts('not-synchronized')];
    await this.request('POST', path, JSON.stringify({ synchronize: [ids], 'stop-synchronize': [] }));
    const union = new Set<string>();
    for (const id of ids) {
      const answer = await this.request('GET', `/api/2/subscriptions/${user}/${id}.json?since=0`);
      for (const url of JsonReading.of(answer).texts('add')) union.add(url);
    }
    for (const id of ids) {
      const body = JSON.stringify({ add: [...union], remove: [] });
      await this.request('POST', `/api/2/subscriptions/${user}/${id}.json`, body);
    }
  }

  /** doRegularSync. */
  async sync(): Promise<void> {
    await this.syncSubscriptions();
    const remote = await this.fetchActions();
    const queued = this.newestPlays();
    for (const action of remote.values()) {
      const own = queued.get(action.url);
      if (own && own.at / 1_000 > action.at) continue;
      queued.delete(action.url);
      this.applyOne(action);
    }
    await this.uploadActions([...queued.values()], 'actions');
  }

  /** doQuickSync: it uploads what waits, on pause, and reads nothing. */
  async quickSync(): Promise<void> {
    await this.uploadSubscriptions([...this.added], [...this.removed], 'quickSubscriptions');
    await this.uploadActions([...this.newestPlays().values()], 'quickActions');
  }

  /** sync.cpp, logout. */
  async signOut(): Promise<void> {
    await this.request('POST', `/api/2/auth/${this.settings.user}/logout.json`, '');
  }

  /** syncSubscriptions. Its own list is uploaded whole where it has no timestamp. */
  private async syncSubscriptions(): Promise<void> {
    const since = this.timestamps.subscriptions ?? 0;
    const [add, remove] = since === 0 ? [[...this.feeds], []] : [[...this.added], [...this.removed]];
    const json = JsonReading.of(await this.request('GET', this.place(`subscriptions?since=${since}`)));
    for (const url of json.texts('add').map(cleaned)) if (!this.feeds.has(url)) this.keep(url);
    for (const url of json.texts('remove').map(cleaned)) if (this.feeds.has(url)) this.drop(url);
    this.keepTimestamp('subscriptions', json.number('timestamp'));
    await this.uploadSubscriptions(add, remove, 'subscriptions');
  }

  /** uploadSubscriptions. */
  private async uploadSubscriptions(
    add: readonly string[],
    remove: readonly string[],
    label: 'subscriptions' | 'quickSubscriptions',
  ): Promise<void> {
    if (add.length > 0 || remove.length > 0) {
      const answer = await this.request('POST', this.place('subscription_change'), JSON.stringify({ add, remove }));
      const json = JsonReading.of(answer);
      json.pairs('update_urls');
      this.keepTimestamp(label, json.number('timestamp'));
    }
    this.added.clear();
    this.removed.clear();
  }

  /** fetchRemoteEpisodeActions, over and over until a page seems to be the last one. */
  private async fetchActions(): Promise<Map<string, Remote>> {
    const newest = new Map<string, Remote>();
    const begun = performance.now();
    for (this.rounds = 1; ; this.rounds++) {
      const since = this.timestamps.actions ?? 0;
      const json = JsonReading.of(await this.request('GET', this.place(`episode_action?since=${since}`)));
      // episodeactionrequest.cpp, processResults: only of episodes that it has.
      const known = json
        .objects('actions')
        .map(remoteOf)
        .filter((action) => this.found(action));
      for (const action of known) if (action.at > (newest.get(action.url)?.at ?? 0)) newest.set(action.url, action);
      const timestamp = json.number('timestamp');
      this.keepTimestamp('actions', timestamp);
      if (timestamp > this.now() / 1_000 - closeSeconds || known.length === 0) return newest;
      // A burst of writes comes again until the time of day has passed the user's clock.
      if (performance.now() - begun > roundsLimitMs) throw new Error('it fetches actions without an end');
    }
  }

  private found({ guid, url }: Pick<Remote, 'guid' | 'url'>) {
    return (guid === '' ? undefined : this.find(guid, url)) ?? this.find(undefined, url);
  }

  /** sync.cpp, applyEpisodeActionsLocally: what was deleted is played for it, too; "new" and "download" are nothing. */
  private applyOne({ guid, url, action, position, total }: Remote): void {
    const episode = this.found({ guid, url });
    if (!episode || !['play', 'delete'].includes(action)) return;
    const isPlayed =
      action === 'delete' || (total > 0 && position >= Math.min(total, episode.seconds) - skippedSeconds);
    this.show(episode, { position: isPlayed ? 0 : position, isPlayed });
  }

  /** getLocalEpisodeActions and createListFromHash: of each episode the newest, and plays alone. */
  private newestPlays(): Map<string, Action> {
    const newest = new Map<string, Action>();
    for (const action of this.actions)
      if (action.at >= (newest.get(action.episode.url)?.at ?? 0)) newest.set(action.episode.url, action);
    return new Map([...newest].filter(([, { action }]) => action === 'play'));
  }

  /** uploadEpisodeActionsPartial. */
  private async uploadActions(actions: readonly Action[], label: 'actions' | 'quickActions'): Promise<void> {
    for (const batch of batches(actions, bulk)) {
      const body = JSON.stringify(batch.map((action) => this.written(action)));
      const json = JsonReading.of(await this.request('POST', this.place('episode_action'), body));
      json.pairs('update_urls');
      this.keepTimestamp(label, json.number('timestamp'));
    }
    this.actions = [];
  }

  /** gpodder.cpp, uploadEpisodeActions: an unknown length is 1. */
  private written({ episode, action, at, started, position, total }: Action): Record<string, unknown> {
    const { feed: podcast, url, guid } = episode;
    const { device } = this.settings;
    return { podcast, episode: url, guid, device, action, timestamp: plainTime(at), started, position, total };
  }

  private keepTimestamp(label: keyof Kasts['timestamps'], timestamp: number): void {
    if (timestamp > 1) this.timestamps[label] = timestamp + 1;
  }

  /** gpodder.cpp: each request's address, by the route of the Nextcloud variant. */
  private place(route: string): string {
    const { variant, user, device } = this.settings;
    const [name = '', query = ''] = route.split('?');
    if (variant === 'nextcloud') {
      const isUpload = query === '';
      return `/index.php/apps/gpoddersync/${name}${isUpload ? '/create' : `?${query}`}`;
    }
    if (name !== 'episode_action') return `/api/2/subscriptions/${user}/${device}.json${query && `?${query}`}`;
    const isFirst = query === 'since=0';
    return `/api/2/episodes/${user}.json${query && `?${query}&aggregated=${isFirst}`}`;
  }

  /** Basic with each request (addAuthentication); Qt keeps cookies beside it, in memory. */
  private async request(method: string, path: string, body?: string): Promise<string> {
    const { server, user, password } = this.settings;
    const headers = {
      Authorization: basic(user, password),
      ...(body !== undefined && { 'Content-Type': 'application/json' }),
      ...(this.cookie && { Cookie: `sessionid=${this.cookie}` }),
      'Accept-Encoding': 'gzip, deflate',
      'Accept-Language': 'en-US,*',
      'User-Agent': 'Kasts/26.11.70; Podcast Player',
    };
    const answer = await exchange({ method, url: server + path, headers, ...(body !== undefined && { body }) });
    if (answer.session !== undefined) this.cookie = answer.session;
    if (answer.status !== 200) throw new Error(`${method} ${path}: ${answer.status}`);
    return answer.text;
  }
}

/** genericrequest.cpp, cleanupUrl. */
function cleaned(url: string): string {
  return decodeURIComponent(url);
}

/** episodeactionrequest.cpp, processResults: it takes any letter case, and reads numbers without a look. */
function remoteOf(json: JsonReading): Remote {
  const action = json.text('action').toLowerCase();
  return {
    url: json.text('episode'),
    guid: json.optionalText('guid') ?? '',
    action,
    position: json.optionalNumber('position') ?? 0,
    total: json.optionalNumber('total') ?? 0,
    at: utcOf(json.text('timestamp')) / 1_000,
  };
}
