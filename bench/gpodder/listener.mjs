import { randomUUID } from 'node:crypto';
import { makeAppPassword } from '#runtime';

const scopes = ['read:subscriptions', 'write:subscriptions'];

/** Gives a user an account with a name and an app password, and finds the URLs of the feeds. */
export async function withAppPassword({ owner }, user) {
  const { secret, hash } = makeAppPassword();
  const name = `ann-${user.id.slice(0, 8)}`;
  await owner.query('INSERT INTO account.accounts (id, name) VALUES ($1, $2)', [user.id, name]);
  await owner.query(
    `INSERT INTO account.credentials (id, account_id, hash, label, scopes) VALUES ($1, $2, $3, 'bench', $4)`,
    [randomUUID(), user.id, Buffer.from(hash, 'base64url'), scopes],
  );
  const { rows } = await owner.query('SELECT guid, feed_url FROM subscription.subscriptions WHERE user_id = $1', [
    user.id,
  ]);
  return { ...user, name, secret, feeds: new Map(rows.map(({ guid, feed_url: url }) => [guid, url])) };
}

/** Later than whatever was sent before, by anybody. */
let uploads = 0;
const nextUpload = () => new Date(Date.UTC(2021, 0) + (uploads += 1) * 1_000).toISOString();

/** A client of both APIs: of the main one by a token, of the other one by the cookie of its session. */
export class Listener {
  constructor(system, user) {
    Object.assign(this, { system, user });
    this.path = `/api/2/episodes/${user.name}.json`;
  }

  /** Signs in, and asks for all there is: every later poll has nothing new. */
  async begin() {
    const authorization = `Basic ${Buffer.from(`${this.user.name}:${this.user.secret}`).toString('base64')}`;
    const login = await fetch(`${this.system.syncUrl}/api/2/auth/${this.user.name}/login.json`, {
      method: 'POST',
      headers: { authorization },
    });
    if (login.status !== 200) throw new Error(`login: ${login.status}`);
    this.headers = { cookie: login.headers.get('set-cookie').split(';')[0] };
    this.since = (await this.ask(0)).timestamp;
    await this.poll();
  }

  /** A poll that has to bring nothing. */
  async poll() {
    const { actions } = await this.ask(this.since);
    if (actions.length > 0) throw new Error(`${actions.length} actions, where nothing is new`);
  }

  async ask(since) {
    const answer = await fetch(`${this.system.syncUrl}${this.path}?since=${since}`, { headers: this.headers });
    if (answer.status !== 200) throw new Error(`GET ${this.path}: ${answer.status}`);
    return answer.json();
  }

  /** All there is, to somebody who was never here: until the first byte, and until the last. */
  async firstSync() {
    const authorization = `Basic ${Buffer.from(`${this.user.name}:${this.user.secret}`).toString('base64')}`;
    const begun = performance.now();
    const answer = await fetch(`${this.system.syncUrl}${this.path}?since=0`, { headers: { authorization } });
    if (answer.status !== 200) throw new Error(`GET ${this.path}: ${answer.status}`);
    let [firstByteMs, text] = [0, ''];
    const decoder = new TextDecoder();
    for await (const chunk of answer.body) {
      firstByteMs ||= performance.now() - begun;
      text += decoder.decode(chunk, { stream: true });
    }
    const allMs = performance.now() - begun;
    const { actions } = JSON.parse(text);
    if (actions.length < this.user.states) throw new Error(`${actions.length} actions of ${this.user.states} rows`);
    return { firstByteMs, allMs };
  }

  pollRequest() {
    return { url: this.system.syncUrl, path: `${this.path}?since=${this.since}`, headers: this.headers };
  }

  mainPoll() {
    const path = `/episodes?since=${this.user.since}`;
    return { url: this.system.baseUrl, path, headers: { authorization: `Bearer ${this.user.token}` } };
  }

  /** Positions of the thirty episodes that are known, each time other ones. */
  upload() {
    const timestamp = nextUpload().slice(0, 19);
    const numbers = { started: 1, position: uploads, total: 10_000_000 };
    const actions = this.user.episodes.map((known) => ({
      podcast: this.user.feeds.get(known.podcast_guid),
      episode: known.enclosure_url,
      guid: known.episode_guid,
      action: 'play',
      timestamp,
      ...numbers,
    }));
    return {
      url: this.system.syncUrl,
      method: 'POST',
      path: this.path,
      headers: this.headers,
      body: JSON.stringify(actions),
    };
  }

  mainUpload() {
    const timestamp = nextUpload();
    const playback_position = { value: uploads, timestamp };
    const episodes = this.user.episodes.map((known) => ({ ...known, playback_position }));
    const headers = { authorization: `Bearer ${this.user.token}`, 'content-type': 'application/json' };
    return { url: this.system.baseUrl, method: 'POST', path: '/episodes', headers, body: JSON.stringify({ episodes }) };
  }
}
