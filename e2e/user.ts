import {
  type Api,
  createApi,
  type Deletion,
  type Episode,
  type EpisodeEntry,
  type SubscribeAnswer,
  type Subscription,
  type SubscriptionEntry,
  type SubscriptionPatch,
  type UpdateAnswer,
  type UploadAnswer,
} from '#client';
import { assert } from 'vitest';
import { eventually } from './eventually.js';
import { type Answer, type Parts, send } from './http.js';
import type { EpisodePage, SubscriptionPage } from './interface.js';
import { baseUrl, token } from './stack.js';

type Query = Record<string, string | number>;

/**
 * A client of one user. The named operations use the SDK and expect success without a retry. The
 * methods of HTTP expect nothing.
 */
export class User {
  readonly api: Api;

  private constructor(readonly credential: string) {
    this.api = createApi({ baseUrl, token: () => credential, retries: 0 });
  }

  /** Creates a new user, unless a subject is given. */
  static async fresh(claims: Parameters<typeof token>[0] = {}): Promise<User> {
    return new User(await token(claims));
  }

  send<Body = unknown>(method: string, path: string, parts: Parts = {}): Promise<Answer<Body>> {
    return send<Body>(method, path, { token: this.credential, ...parts });
  }

  get<Body = unknown>(path: string, headers: Record<string, string> = {}): Promise<Answer<Body>> {
    return this.send<Body>('GET', path, { headers });
  }

  post<Body = unknown>(
    path: string,
    body: unknown,
    headers: Record<string, string> = {},
  ): Promise<Answer<Body>> {
    return this.send<Body>('POST', path, { body, headers });
  }

  patch<Body = unknown>(
    path: string,
    body: unknown,
    headers: Record<string, string> = {},
  ): Promise<Answer<Body>> {
    return this.send<Body>('PATCH', path, { body, headers });
  }

  delete<Body = unknown>(
    path: string,
    headers: Record<string, string> = {},
  ): Promise<Answer<Body>> {
    return this.send<Body>('DELETE', path, { headers });
  }

  /** Adds subscriptions. @returns their entries in `success`. */
  async subscribe(...entries: (SubscriptionEntry | string)[]): Promise<SubscribeAnswer['success']> {
    const subscriptions = entries.map((entry) =>
      typeof entry === 'string' ? { feed_url: entry } : entry,
    );
    const { success, failure } = await this.api.addSubscriptions(subscriptions);
    assert.deepEqual(failure, []);
    return success;
  }

  /** Adds a subscription. @returns its guid. */
  async subscribed(feedUrl = 'https://a.example/feed', guid?: string): Promise<string> {
    const [made] = await this.subscribe({ feed_url: feedUrl, ...(guid !== undefined && { guid }) });
    return made?.guid ?? '';
  }

  update(guid: string, patch: SubscriptionPatch): Promise<UpdateAnswer> {
    return this.api.updateSubscription(guid, patch);
  }

  subscription(guid: string): Promise<Subscription> {
    return this.api.getSubscription(guid);
  }

  /** Returns a page of the list, with its `Sync-Timestamp` as `sync`. */
  subscriptions(query: Query = {}): Promise<SubscriptionPage & { sync: string }> {
    return this.page<SubscriptionPage>('/subscriptions', query);
  }

  episodes(query: Query = {}): Promise<EpisodePage & { sync: string }> {
    return this.page<EpisodePage>('/episodes', query);
  }

  /** Uploads entries and expects success. @returns their episodes. */
  async upload(...episodes: EpisodeEntry[]): Promise<UploadAnswer['success']> {
    const { success, failure } = await this.api.uploadEpisodes(episodes);
    assert.deepEqual(failure, []);
    return success;
  }

  /** Uploads one entry and expects success. */
  async uploaded(entry: EpisodeEntry): Promise<Episode> {
    const [made] = await this.upload(entry);
    return made as Episode;
  }

  /** Uploads one entry and expects a failure. @returns its verdict. */
  async refused(entry: unknown): Promise<UploadAnswer['failure'][number]> {
    const { success, failure } = await this.api.uploadEpisodes([entry as EpisodeEntry]);
    assert.deepEqual({ success, failures: failure.length }, { success: [], failures: 1 });
    return failure[0] as UploadAnswer['failure'][number];
  }

  async requestDeletion(guid: string): Promise<number> {
    return (await this.api.deleteSubscription(guid)).deletion_id;
  }

  /** Waits for the end of a deletion. @returns its record. */
  ended(deletionId: number): Promise<Deletion> {
    return eventually(async () => {
      const deletion = await this.api.getDeletion(deletionId);
      assert.notEqual(deletion.status, 'PENDING');
      return deletion;
    });
  }

  /** Deletes a subscription and waits for the end. */
  async deleted(guid: string): Promise<void> {
    assert.equal((await this.ended(await this.requestDeletion(guid))).status, 'SUCCESS');
  }

  private async page<Body>(path: string, query: Query): Promise<Body & { sync: string }> {
    const search = new URLSearchParams();
    for (const [name, value] of Object.entries(query)) search.set(name, String(value));
    const answer = await this.get<Body>(`${path}?${search}`);
    assert.deepEqual(
      { status: answer.status, body: answer.body },
      { status: 200, body: answer.body },
    );
    return { ...answer.body, sync: answer.headers.get('sync-timestamp') ?? '' };
  }
}
