import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { listEpisodes, updateSubscription } from '#contracts';
import { type Device, type DeviceAnswer, eventually } from '#testing';

/** One request and how it ended. */
export interface Exchange {
  readonly what: string;
  /** 0 when no whole answer came back. */
  readonly status: number;
  /** By the clock of performance.now(). */
  readonly started: number;
  readonly tookMs: number;
  readonly retryAfter: string | null;
}

/** Returns true for the operation's answer, or a 503 with Retry-After. */
function isClean({ status, retryAfter }: Exchange): boolean {
  return status === 200 || status === 202 || (status === 503 && retryAfter !== null);
}

/** Allowed delay of an answer after its deadline in milliseconds, for busy machines. */
const slackMs = 10_000;

/** Pause of a client after a refusal, in milliseconds. */
const pauseMs = 50;

/**
 * A user who reads and writes without a pause, and stores every acknowledged write. All URLs
 * contain the user's id, which reveals data of other users.
 */
class SimulatedUser {
  private readonly feeds = new Set<string>();
  private readonly deletions = new Set<number>();
  private podcast = '';
  private position = 0;
  private isSubscribed: boolean | undefined;
  private step = 0;

  constructor(
    private readonly device: Device,
    private readonly record: (exchange: Exchange) => void,
  ) {}

  /** Sends the next request of a fixed sequence. */
  async next(): Promise<void> {
    const steps = [
      this.subscribe,
      this.upload,
      this.readEpisodes,
      this.update,
      this.readSubscriptions,
      this.delete,
    ];
    const next = this.podcast ? steps[this.step++ % steps.length] : this.subscribe;
    if (!(await next!.call(this))) await delay(pauseMs);
  }

  /** Checks every acknowledged write. An interrupted deletion is resent after half a minute. */
  async confirm(): Promise<void> {
    const { body: list } = await this.whole<{
      subscriptions: { feed_url: string; is_subscribed: boolean }[];
    }>('/subscriptions?per_page=1000');
    const known = new Map(list.subscriptions.map((row) => [row.feed_url, row.is_subscribed]));
    const missing = [...this.feeds].filter((feed) => !known.has(feed));
    assert.deepEqual(missing, [], 'acknowledged feeds that are missing');
    if (this.isSubscribed !== undefined)
      assert.equal(known.get(this.feed(0)), this.isSubscribed, 'the acknowledged state');
    const { body: page } = await this.whole<{
      episodes: { playback_position: { value: number } }[];
    }>('/episodes');
    const position = page.episodes[0]?.playback_position.value ?? 0;
    assert(
      position >= this.position,
      `position ${position} is older than the acknowledged ${this.position}`,
    );
    for (const id of this.deletions)
      await eventually(
        async () => assert.equal((await this.whole(`/deletions/${id}`)).body['status'], 'SUCCESS'),
        { timeout: 60_000, interval: 250 },
      );
  }

  private async subscribe(): Promise<boolean> {
    const feed = this.feed(this.podcast ? this.step : 0);
    const body = { subscriptions: [{ feed_url: feed }] };
    const answer = await this.send<{ success: { guid: string }[] }>('POST', '/subscriptions', body);
    if (answer?.status !== 200) return false;
    this.podcast ||= answer.body.success[0]?.guid ?? '';
    this.feeds.add(feed);
    return true;
  }

  private async upload(): Promise<boolean> {
    const position = this.step;
    const answer = await this.send('POST', '/episodes', {
      episodes: [
        {
          podcast_guid: this.podcast,
          episode_guid: 'one',
          title: 'One',
          publish_date: '2026-01-01T00:00:00Z',
          enclosure_url: `${this.feed(0)}/1.mp3`,
          episode_url: `${this.feed(0)}/1`,
          playback_position: {
            value: position,
            timestamp: new Date(Date.UTC(2026, 0, 2) + position * 1_000).toISOString(),
          },
        },
      ],
    });
    if (answer?.status !== 200) return false;
    this.position = position;
    return true;
  }

  private async update(): Promise<boolean> {
    const isSubscribed = this.step % 4 < 2;
    const answer = await this.send('PATCH', `/subscriptions/${this.podcast}`, {
      is_subscribed: isSubscribed,
    });
    // A refused one can have taken effect.
    this.isSubscribed = answer?.status === 200 ? isSubscribed : undefined;
    return answer?.status === 200;
  }

  private async delete(): Promise<boolean> {
    // A separate feed, never added again, as that would win over the deletion.
    const body = { subscriptions: [{ feed_url: this.feed(`away-${this.step}`) }] };
    const made = await this.send<{ success: { guid: string }[] }>('POST', '/subscriptions', body);
    if (made?.status !== 200) return false;
    const path = `/subscriptions/${made.body.success[0]?.guid}`;
    const answer = await this.send<{ deletion_id: number }>('DELETE', path);
    if (answer?.status !== 202) return false;
    this.deletions.add(answer.body.deletion_id);
    return true;
  }

  private async readSubscriptions(): Promise<boolean> {
    const answer = await this.send<{ subscriptions: { feed_url: string }[] }>(
      'GET',
      '/subscriptions',
    );
    if (answer?.status === 200) this.areMine(answer.body.subscriptions.map((row) => row.feed_url));
    return answer?.status === 200;
  }

  private async readEpisodes(): Promise<boolean> {
    const answer = await this.send<{ episodes: { episode_url: string }[] }>('GET', '/episodes');
    if (answer?.status === 200) this.areMine(answer.body.episodes.map((row) => row.episode_url));
    return answer?.status === 200;
  }

  private areMine(urls: readonly string[]): void {
    const foreign = urls.filter((url) => !url.includes(this.device.user));
    if (foreign.length > 0) this.record({ what: `foreign ${foreign[0]}`, status: 0, ...nothing });
  }

  private feed(name: number | string): string {
    return `https://example.org/${this.device.user}/${name}`;
  }

  /** Asks until it is answered with 200. */
  private whole<Body = Record<string, unknown>>(path: string): Promise<DeviceAnswer<Body>> {
    return eventually(async () => {
      const answer = await this.device.send<Body>('GET', path);
      assert.equal(answer.status, 200);
      return answer;
    });
  }

  private async send<Body = Record<string, unknown>>(method: string, path: string, body?: unknown) {
    const started = performance.now();
    const answer = await this.device.send<Body>(method, path, { body }).catch(() => undefined);
    const [tookMs, retryAfter] = [
      performance.now() - started,
      answer?.headers.get('retry-after') ?? null,
    ];
    this.record({
      what: `${method} ${path}`,
      status: answer?.status ?? 0,
      started,
      tookMs,
      retryAfter,
    });
    return answer;
  }
}

const nothing = { started: 0, tookMs: 0, retryAfter: null };

/** Several users who read and write at the same time until {@link stop}. */
export class Traffic {
  readonly exchanges: Exchange[] = [];
  private readonly users: SimulatedUser[];
  private readonly loops: Promise<void>[];
  private stopped = false;

  constructor(devices: readonly Device[]) {
    this.users = devices.map(
      (device) => new SimulatedUser(device, (exchange) => this.exchanges.push(exchange)),
    );
    this.loops = this.users.map(async (user) => {
      while (!this.stopped) await user.next();
    });
  }

  /** Requests that ended in neither an answer nor a clean 503. */
  get unclean(): Exchange[] {
    return this.exchanges.filter((exchange) => !isClean(exchange));
  }

  /** Requests without a successful answer. */
  get failed(): Exchange[] {
    return this.exchanges.filter(({ status }) => status !== 200 && status !== 202);
  }

  /** Requests that took longer than their contract's deadline and {@link slackMs}. */
  get late(): Exchange[] {
    const contractOf = (what: string) =>
      what.startsWith('PATCH') ? updateSubscription : listEpisodes;
    return this.exchanges.filter(
      ({ what, tookMs }) => tookMs >= contractOf(what).deadlineMs + slackMs,
    );
  }

  get longestMs(): number {
    return Math.max(0, ...this.exchanges.map(({ tookMs }) => tookMs));
  }

  /** Resolves after this many more successful answers. */
  async continueFor(count = 60, timeout = 20_000): Promise<void> {
    const answered = () => this.exchanges.length - this.failed.length;
    const enough = answered() + count;
    await eventually(
      () => assert(answered() >= enough, `${answered()} of ${enough} requests were answered`),
      {
        timeout,
      },
    );
  }

  /** Stops without checks, for users of a stopped gateway. */
  async abandon(): Promise<void> {
    this.stopped = true;
    await Promise.all(this.loops);
  }

  /** Waits for the requests under way, and checks that no acknowledged write was lost. */
  async stop(): Promise<void> {
    this.stopped = true;
    await Promise.all(this.loops);
    await Promise.all(this.users.map((user) => user.confirm()));
  }
}
