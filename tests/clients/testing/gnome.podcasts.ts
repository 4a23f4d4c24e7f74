import { basic, type ClientAnswer, exchange } from './http.exchange.js';
import { JsonReading } from './json.reading.js';
import { Library } from './listening.js';
import { plainTime, utcOf } from './web.episodes.js';

/** Where it syncs, as its login flow told it. */
export interface GnomeSettings {
  readonly server: string;
  readonly user: string;
  readonly password: string;
}

/**
 * GNOME Podcasts' sync (gitlab.gnome.org/World/podcasts, of 2024 or later), by what is known of it: Nextcloud's routes,
 * Basic each time, its own clock at the start of a sync as the next `since`, all that waits in one request, and every
 * action needs `started`, `position` and `total`.
 */
export class GnomePodcasts extends Library {
  lastSync = 0;

  constructor(
    private readonly settings: GnomeSettings,
    now?: () => number,
  ) {
    super(now);
  }

  /** It would rather have a password of its own: 403 says that it has one. */
  async hasAppPassword(): Promise<boolean> {
    const { status, text } = await this.request('GET', '/ocs/v2.php/core/getapppassword');
    return status === 403 || !/<apppassword>[^<]+<\/apppassword>/.test(text);
  }

  /** It revokes its password when its user signs out. */
  async signOut(): Promise<void> {
    const { status } = await this.request('DELETE', '/ocs/v2.php/core/apppassword');
    if (status !== 200) throw new Error(`apppassword: ${status}`);
  }

  async sync(): Promise<void> {
    const [since, start] = [this.lastSync, Math.floor(this.now() / 1_000)];
    const subscriptions = JsonReading.of(await this.ok('GET', `subscriptions?since=${since}`));
    for (const url of subscriptions.texts('add')) if (!this.removed.has(url)) this.keep(url);
    for (const url of subscriptions.texts('remove')) if (!this.added.has(url)) this.drop(url);
    const actions = JsonReading.of(await this.ok('GET', `episode_action?since=${since}`)).objects('actions');
    for (const action of actions) this.apply(action);
    const changes = { add: [...this.added], remove: [...this.removed] };
    if (changes.add.length + changes.remove.length > 0)
      await this.ok('POST', 'subscription_change/create', JSON.stringify(changes));
    if (this.actions.length > 0) await this.ok('POST', 'episode_action/create', JSON.stringify(this.written()));
    this.added.clear();
    this.removed.clear();
    this.actions = [];
    this.lastSync = start;
  }

  private apply(action: JsonReading): void {
    if (action.text('action') !== 'PLAY') throw new Error('it knows PLAY alone');
    utcOf(action.text('timestamp'));
    const [started, position, total] = ['started', 'position', 'total'].map((name) => action.number(name));
    const episode = this.find(action.optionalText('guid'), action.text('episode'));
    if (!episode || (started as number) < 0) return;
    const isPlayed = (position as number) >= (total as number);
    this.show(episode, { position: isPlayed ? 0 : (position as number), isPlayed });
  }

  /** An episode whose file it does not know is named by its guid alone. */
  private written(): unknown[] {
    return this.actions.map(({ episode, at, started, position, total }) => ({
      podcast: episode.feed,
      episode: episode.url,
      guid: episode.guid,
      action: 'PLAY',
      timestamp: plainTime(at),
      started,
      position,
      total,
    }));
  }

  private async ok(method: string, route: string, body?: string): Promise<string> {
    const { status, text } = await this.request(method, `/index.php/apps/gpoddersync/${route}`, body);
    if (status !== 200) throw new Error(`${route}: ${status}`);
    return text;
  }

  private request(method: string, path: string, body?: string): Promise<ClientAnswer> {
    const { server, user, password } = this.settings;
    const type = body === undefined ? undefined : { 'Content-Type': 'application/json' };
    const own = path.startsWith('/ocs') ? { 'OCS-APIRequest': 'true' } : undefined;
    const headers = { Authorization: basic(user, password), Accept: '*/*', 'User-Agent': 'Podcasts', ...type, ...own };
    return exchange({ method, url: server + path, headers, ...(body !== undefined && { body }) });
  }
}
