import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { type Device, eventually } from '#testing';

type Body = Record<string, unknown>;

/** A device's copy of the user's data from polls, by current guid and by sync_id. */
class Copy {
  readonly subscriptions = new Map<unknown, Body>();
  readonly episodes = new Map<unknown, Body>();
  private since: { [List in 'subscriptions' | 'episodes']?: string } = {};

  async poll(device: Device): Promise<void> {
    for (const { guid, new_guid, guid_changed: _, ...shown } of await this.changed(
      device,
      'subscriptions',
    )) {
      if (new_guid !== undefined) this.subscriptions.delete(guid);
      this.subscriptions.set(new_guid ?? guid, shown);
    }
    // A new guid of the subscription does not count as a change of the episode.
    for (const { podcast_guid: _, ...episode } of await this.changed(device, 'episodes'))
      this.episodes.set(episode['sync_id'], episode);
  }

  private async changed(device: Device, list: 'subscriptions' | 'episodes'): Promise<Body[]> {
    const since = this.since[list];
    const path = `/${list}?per_page=250${since === undefined ? '' : `&since=${since}`}`;
    const answer = await device.send('GET', path);
    assert.equal(answer.status, 200);
    assert.equal(answer.body['next'], undefined, 'all of it is on one page');
    this.since[list] = String(answer.headers.get('sync-timestamp'));
    return answer.body[list] as Body[];
  }
}

/** A feed of a listener, with the state that the server has acknowledged. */
interface Feed {
  guid: string;
  isSubscribed: boolean;
  isDeleted: boolean;
  /** The last position of each episode, by sync_id. */
  readonly positions: Map<string, number>;
}

/** A user whose device sends writes one by one until acknowledged, and polls after each. */
export class Listener {
  private readonly copy = new Copy();
  private readonly feeds: Feed[] = [];
  private steps = 0;
  private isOver = false;
  private writing: Promise<void> = Promise.resolve();

  constructor(readonly device: Device) {}

  /** Number of acknowledged writes. */
  get acknowledged(): number {
    return this.steps;
  }

  begin(): void {
    this.writing = (async () => {
      while (!this.isOver) {
        await this.step();
        await this.copy.poll(this.device);
        this.steps += 1;
      }
    })();
  }

  async end(): Promise<void> {
    this.isOver = true;
    await this.writing;
  }

  /** @throws AssertionError if an acknowledged write or a change in the polls is missing. */
  async check(): Promise<void> {
    await this.copy.poll(this.device);
    const all = new Copy();
    await all.poll(this.device);
    assert.deepEqual(
      Object.fromEntries(this.copy.subscriptions),
      Object.fromEntries(all.subscriptions),
    );
    for (const [syncId, episode] of all.episodes)
      assert.deepEqual(this.copy.episodes.get(syncId), episode);
    for (const { guid, isSubscribed, isDeleted, positions } of this.feeds) {
      const shown = all.subscriptions.get(guid);
      assert.equal(
        shown?.['is_subscribed'],
        isSubscribed && !isDeleted,
        `${guid} is there as acknowledged`,
      );
      assert.equal(
        shown?.['deleted'] !== undefined,
        isDeleted,
        `${guid} is deleted or not as acknowledged`,
      );
      for (const [syncId, position] of isDeleted ? [] : positions) {
        const state = all.episodes.get(syncId)?.['playback_position'] as Body | undefined;
        assert.equal(
          state?.['value'],
          position,
          `the position of ${syncId} is the acknowledged one`,
        );
      }
    }
  }

  private async step(): Promise<void> {
    const live = this.feeds.filter(({ isDeleted }) => !isDeleted);
    const feed = live[this.steps % Math.max(live.length, 1)];
    const kind = this.steps % 9;
    if (!feed || kind === 0) return this.subscribe();
    if (kind === 3) {
      feed.isSubscribed = !feed.isSubscribed;
      await this.write('PATCH', `/subscriptions/${feed.guid}`, {
        is_subscribed: feed.isSubscribed,
      });
    } else if (kind === 5) {
      const newGuid = randomUUID();
      await this.write('PATCH', `/subscriptions/${feed.guid}`, { new_guid: newGuid });
      feed.guid = newGuid;
    } else if (kind === 7 && live.length > 2) {
      await this.write('DELETE', `/subscriptions/${feed.guid}`);
      feed.isDeleted = true;
      // A write during the deletion would be deleted too.
      await this.isGone(feed);
    } else await this.listen(feed);
  }

  private async subscribe(): Promise<void> {
    const feed_url = `https://feeds.example/${this.device.user}/${this.steps}`;
    const body = await this.write('POST', '/subscriptions', { subscriptions: [{ feed_url }] });
    const [{ guid } = {}] = body['success'] as Body[];
    this.feeds.push({
      guid: String(guid),
      isSubscribed: true,
      isDeleted: false,
      positions: new Map(),
    });
  }

  private async listen({ guid, positions }: Feed): Promise<void> {
    const [known] = positions.keys();
    const sync_id = known !== undefined && this.steps % 2 === 0 ? known : randomUUID();
    const playback_position = { value: this.steps, timestamp: new Date().toISOString() };
    const episode = { podcast_guid: guid, sync_id, episode_guid: sync_id, playback_position };
    const body = await this.write('POST', '/episodes', { episodes: [episode] });
    assert.equal((body['failure'] as Body[]).length, 0, JSON.stringify(body));
    positions.set(sync_id, this.steps);
  }

  private isGone({ guid }: Feed): Promise<void> {
    return eventually(
      async () =>
        assert.equal((await this.device.send('GET', `/subscriptions/${guid}`)).status, 410),
      {
        timeout: 60_000,
      },
    );
  }

  /** Repeats a write until it is acknowledged. */
  private write(method: string, path: string, body?: unknown): Promise<Body> {
    const key = randomUUID();
    return eventually(
      async () => {
        const answer = await this.device.send(method, path, { body, key });
        assert(
          answer.status === 200 || answer.status === 202,
          `${method} ${path} was answered with ${answer.status}`,
        );
        return answer.body;
      },
      { timeout: 60_000, interval: 50 },
    );
  }
}
