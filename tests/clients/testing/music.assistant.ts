import { basic, exchange } from './http.exchange.js';
import { JsonReading } from './json.reading.js';
import type { WebEpisode } from './web.episodes.js';
import { plainTime, utcOf } from './web.episodes.js';

/** Where somebody is in an episode, by its URL. */
export interface Progress {
  readonly position: number;
  readonly isPlayed: boolean;
}

/** What it signs in with: a name and a password at a gpodder server, or a token of a Nextcloud login. */
export type MusicAssistantLogin = { readonly user: string; readonly password: string } | { readonly token: string };

/**
 * Music Assistant's provider `gpodder` (github.com/music-assistant/server, music_assistant/providers/gpodder/client.py,
 * 1f9df21): it keeps no timestamp, and reads everything each time. No device of its own is ever registered.
 */
export class MusicAssistant {
  private readonly prefix = 'index.php/apps/gpoddersync';
  private readonly device = 'music_assistant';

  constructor(
    private readonly server: string,
    private readonly login: MusicAssistantLogin,
  ) {}

  /** init_gpodder: a POST without a body. Nothing on Nextcloud's routes (init_nc). */
  async begin(): Promise<void> {
    if ('user' in this.login) await this.post(`api/2/auth/${this.login.user}/login.json`);
  }

  /** get_subscriptions. */
  async subscriptions(): Promise<string[]> {
    const path =
      'user' in this.login
        ? `api/2/subscriptions/${this.login.user}/${this.device}.json`
        : `${this.prefix}/subscriptions`;
    const json = await this.get(`${path}?since=0`);
    json.number('timestamp');
    json.texts('remove');
    return json.texts('add');
  }

  /** get_episode_actions, then what __init__.py makes of the newest one of each episode. */
  async progress(): Promise<Map<string, Progress>> {
    const path =
      'user' in this.login
        ? `api/2/episodes/${this.login.user}.json?since=0&device=${this.device}`
        : `${this.prefix}/episode_action?since=0`;
    const json = await this.get(path);
    json.number('timestamp');
    const actions = json.objects('actions').filter((action) => /^(play|new|delete)$/i.test(action.text('action')));
    const [found, times] = [new Map<string, Progress>(), new Map<string, number>()];
    for (const action of actions) {
      const [episode, at] = [action.text('episode'), utcOf(action.text('timestamp'))];
      if (at < (times.get(episode) ?? 0) || action.text('action').toLowerCase() === 'delete') continue;
      times.set(episode, at);
      const position = action.optionalNumber('position') ?? 0;
      const total = action.optionalNumber('total') ?? 0;
      found.set(episode, { position, isPlayed: position > 0 && position >= total });
    }
    return found;
  }

  /** update_subscriptions. */
  async change(add: readonly string[], remove: readonly string[]): Promise<void> {
    const path =
      'user' in this.login
        ? `api/2/subscriptions/${this.login.user}/${this.device}.json`
        : `${this.prefix}/subscription_change/create`;
    await this.post(path, { add, remove });
  }

  /** update_progress: one action a request; position 0 is "new". */
  async listen({ feed, url, guid, seconds }: WebEpisode, position: number): Promise<void> {
    const named = { podcast: feed, episode: url, timestamp: plainTime(Date.now()) };
    const action =
      position === 0 ? { ...named, action: 'new' } : { ...named, action: 'play', position, started: 0, total: seconds };
    if ('user' in this.login) return this.post(`api/2/episodes/${this.login.user}.json`, [action]);
    return this.post(`${this.prefix}/episode_action/create`, [{ ...action, guid }]);
  }

  private get headers(): Record<string, string> {
    const { login } = this;
    return {
      Authorization: 'user' in login ? basic(login.user, login.password) : `Bearer ${login.token}`,
      Accept: '*/*',
      'Accept-Encoding': 'gzip, deflate',
      'User-Agent': 'Python/3.13 aiohttp/3.12.15',
    };
  }

  /** _post: 200 and nothing else. */
  private async post(path: string, data?: unknown): Promise<void> {
    const body = data === undefined ? undefined : JSON.stringify(data);
    const headers = { ...this.headers, ...(body !== undefined && { 'Content-Type': 'application/json' }) };
    const url = `${this.server}/${path}`;
    const { status } = await exchange({ method: 'POST', url, headers, ...(body !== undefined && { body }) });
    if (status !== 200) throw new Error(`API POST call to ${path} failed: ${status}`);
  }

  /** _get: 200 with exactly this content type, or it fails. */
  private async get(path: string): Promise<JsonReading> {
    const { status, headers, text } = await exchange({
      method: 'GET',
      url: `${this.server}/${path}`,
      headers: this.headers,
    });
    const type = headers['content-type']?.split(';')[0]?.trim();
    if (status !== 200 || type !== 'application/json')
      throw new Error(`API GET call to ${path} failed: ${status} ${type}`);
    return JsonReading.of(text);
  }
}
