import { assert } from 'vitest';
import { eventually } from './eventually.js';
import { type Answer, type Parts, send } from './http.js';
import type {
  Deletion,
  DeletionAccepted,
  Episode,
  EpisodeEntry,
  EpisodePage,
  SubscribeAnswer,
  Subscription,
  SubscriptionPage,
  UpdateAnswer,
  UploadAnswer,
} from './interface.js';
import { token } from './stack.js';

type Query = Record<string, string | number>;
type SubscribeEntry = { feed_url: string; guid?: string };
type Patch = { new_feed_url?: string; new_guid?: string; is_subscribed?: boolean };

/** A client of one user. The named operations expect success; the methods of HTTP expect nothing. */
export class User {
  private constructor(readonly credential: string) {}

  /** A user that no other test knows, unless a subject is given. */
  static async fresh(claims: Parameters<typeof token>[0] = {}): Promise<User> {
    return new User(await token(claims));
  }

  send<Body = unknown>(method: string, path: string, parts: Parts = {}): Promise<Answer<Body>> {
    return send<Body>(method, path, { token: this.credential, ...parts });
  }

  get<Body = unknown>(path: string, headers: Record<string, string> = {}): Promise<Answer<Body>> {
    return this.send<Body>('GET', path, { headers });
  }

  post<Body = unknown>(path: string, body: unknown, headers: Record<string, string> = {}): Promise<Answer<Body>> {
    return this.send<Body>('POST', path, { body, headers });
  }

  patch<Body = unknown>(path: string, body: unknown, headers: Record<string, string> = {}): Promise<Answer<Body>> {
    return this.send<Body>('PATCH', path, { body, headers });
  }

  delete<Body = unknown>(path: string, headers: Record<string, string> = {}): Promise<Answer<Body>> {
    return this.send<Body>('DELETE', path, { headers });
  }

  /** Adds subscriptions and gives back their entries in `success`. */
  async subscribe(...entries: (SubscribeEntry | string)[]): Promise<SubscribeAnswer['success']> {
    const subscriptions = entries.map((entry) => (typeof entry === 'string' ? { feed_url: entry } : entry));
    const { status, body } = await this.post<SubscribeAnswer>('/subscriptions', { subscriptions });
    assert.deepEqual({ status, failure: body.failure }, { status: 200, failure: [] });
    return body.success;
  }

  /** Adds one subscription and gives back its guid. */
  async subscribed(feedUrl = 'https://a.example/feed', guid?: string): Promise<string> {
    const [made] = await this.subscribe({ feed_url: feedUrl, ...(guid !== undefined && { guid }) });
    return made?.guid ?? '';
  }

  async update(guid: string, patch: Patch): Promise<UpdateAnswer> {
    return success(await this.patch<UpdateAnswer>(`/subscriptions/${guid}`, patch), 200);
  }

  async subscription(guid: string): Promise<Subscription> {
    return success(await this.get<Subscription>(`/subscriptions/${guid}`), 200);
  }

  /** A page of the list, with its `Sync-Timestamp` as `sync`. */
  subscriptions(query: Query = {}): Promise<SubscriptionPage & { sync: string }> {
    return this.page<SubscriptionPage>('/subscriptions', query);
  }

  episodes(query: Query = {}): Promise<EpisodePage & { sync: string }> {
    return this.page<EpisodePage>('/episodes', query);
  }

  /** Uploads entries that are all accepted, and gives them back as they stand. */
  async upload(...episodes: EpisodeEntry[]): Promise<UploadAnswer['success']> {
    const { status, body } = await this.post<UploadAnswer>('/episodes', { episodes });
    assert.deepEqual({ status, failure: body.failure }, { status: 200, failure: [] });
    return body.success;
  }

  /** Uploads one entry that is accepted. */
  async uploaded(entry: EpisodeEntry): Promise<Episode> {
    const [made] = await this.upload(entry);
    return made as Episode;
  }

  /** Uploads one entry that is refused, and gives back its verdict. */
  async refused(entry: unknown): Promise<UploadAnswer['failure'][number]> {
    const { status, body } = await this.post<UploadAnswer>('/episodes', { episodes: [entry] });
    const verdicts = { status, success: body.success, failures: body.failure.length };
    assert.deepEqual(verdicts, { status: 200, success: [], failures: 1 });
    return body.failure[0] as UploadAnswer['failure'][number];
  }

  async requestDeletion(guid: string): Promise<number> {
    return success(await this.delete<DeletionAccepted>(`/subscriptions/${guid}`), 202).deletion_id;
  }

  /** The deletion record once it is final. */
  ended(deletionId: number): Promise<Deletion> {
    return eventually(async () => {
      const deletion = success(await this.get<Deletion>(`/deletions/${deletionId}`), 200);
      assert.notEqual(deletion.status, 'PENDING');
      return deletion;
    });
  }

  /** Deletes a subscription and waits until it is done. */
  async deleted(guid: string): Promise<void> {
    assert.equal((await this.ended(await this.requestDeletion(guid))).status, 'SUCCESS');
  }

  private async page<Body>(path: string, query: Query): Promise<Body & { sync: string }> {
    const search = new URLSearchParams();
    for (const [name, value] of Object.entries(query)) search.set(name, String(value));
    const answer = await this.get<Body>(`${path}?${search}`);
    return { ...success(answer, 200), sync: answer.headers.get('sync-timestamp') ?? '' };
  }
}

function success<Body>(answer: Answer<Body>, status: number): Body {
  assert.deepEqual({ status: answer.status, body: answer.body }, { status, body: answer.body });
  return answer.body;
}
