import { randomUUID } from 'node:crypto';
import { type Device, type DeviceAnswer, eventually } from '#testing';

type Row = Record<string, unknown>;

/** An episode as a device uploads it. */
export function episode(guid: string, name: string, position = 1, minute = 0) {
  return {
    podcast_guid: guid,
    episode_guid: name,
    title: name,
    publish_date: '2023-02-23T14:00:00Z',
    enclosure_url: `https://e.example/${name}.mp3`,
    episode_url: `https://e.example/${name}`,
    playback_position: {
      value: position,
      timestamp: `2023-02-24T08:${String(minute).padStart(2, '0')}:00Z`,
    },
  };
}

/** A user over HTTP, as the tests of deletions need one. */
export class SimulatedUser {
  constructor(readonly device: Device) {}

  get id(): string {
    return this.device.user;
  }

  /** Adds a feed. @returns its guid. */
  async subscribe(feedUrl = `https://feeds.example/${randomUUID()}`): Promise<string> {
    const { body } = await this.post('/subscriptions', { subscriptions: [{ feed_url: feedUrl }] });
    return String((body['success'] as Row[])[0]?.['guid']);
  }

  /** Adds a feed with three episodes, one with two sync_ids; a deletion can stop between them. */
  async subscribeWithEpisodes(feedUrl?: string): Promise<string> {
    const guid = await this.subscribe(feedUrl);
    const episodes = ['first', 'second', 'midway', 'first'].map((name) => ({
      ...episode(guid, name),
      sync_id: randomUUID(),
    }));
    const { body } = await this.post('/episodes', { episodes });
    if ((body['failure'] as Row[]).length > 0)
      throw new Error(`not uploaded: ${JSON.stringify(body)}`);
    return guid;
  }

  /** Asks for a deletion. @returns its id. */
  async delete(guid: string, key?: string): Promise<number> {
    const answer = await this.device.send('DELETE', `/subscriptions/${guid}`, { key });
    if (answer.status !== 202) throw new Error(`DELETE was answered with ${answer.status}`);
    return Number(answer.body['deletion_id']);
  }

  async statusOf(deletionId: number): Promise<unknown> {
    return (await this.device.send('GET', `/deletions/${deletionId}`)).body['status'];
  }

  async ends(deletionId: number, status: 'SUCCESS' | 'FAILURE', timeout = 20_000): Promise<void> {
    const check = async () => {
      const now = await this.statusOf(deletionId);
      if (now !== status)
        throw new Error(`deletion ${deletionId} is ${String(now)} and not ${status}`);
    };
    await eventually(check, { timeout, interval: 50 });
  }

  /** The status of GET by guid, and the names of the episodes. */
  async sees(guid: string): Promise<{ subscription: number; episodes: string[] }> {
    const { status } = await this.device.send('GET', `/subscriptions/${guid}`);
    const { body } = await this.device.send('GET', '/episodes');
    return {
      subscription: status,
      episodes: (body['episodes'] as Row[]).map((one) => String(one['title'])),
    };
  }

  /** For preparations: sends again while the machine is too busy, as a client does. */
  private async post(path: string, body: unknown): Promise<DeviceAnswer> {
    const key = randomUUID();
    return eventually(async () => {
      const answer = await this.device.send('POST', path, { body, key });
      if (answer.status !== 200) throw new Error(`POST ${path} was answered with ${answer.status}`);
      return answer;
    });
  }
}
