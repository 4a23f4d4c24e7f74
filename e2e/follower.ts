import { assert } from 'vitest';
import { eventually } from './eventually.js';
import { baseUrl } from './stack.js';
import type { User } from './user.js';

/** A client of `GET /changes` that records the received stamps. */
export class Follower {
  readonly stamps: string[] = [];
  private readonly leaving = new AbortController();

  /** Follows a user's changes. Resolves after the first stamp. */
  static async of(user: User, path = '/changes'): Promise<Follower> {
    const follower = new Follower();
    const headers = { authorization: `Bearer ${user.credential}` };
    const response = await fetch(baseUrl + path, { headers, signal: follower.leaving.signal });
    assert.equal(response.status, 200);
    void follower.read(response).catch(() => {});
    await eventually(async () => assert.equal(follower.stamps.length > 0, true));
    return follower;
  }

  /** Waits for a stamp or a later one. */
  received(stamp: string): Promise<void> {
    return eventually(async () => {
      const last = this.stamps.at(-1) ?? '';
      assert(last >= stamp, `${last} is not yet ${stamp}`);
    });
  }

  leave(): void {
    this.leaving.abort();
  }

  private async read(response: Response): Promise<void> {
    const decoder = new TextDecoder();
    let text = '';
    for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
      text += decoder.decode(chunk, { stream: true });
      const events = text.split('\n\n');
      text = events.pop() as string;
      for (const event of events)
        if (event !== ':') this.stamps.push(/^event: changed\ndata: (\S+)$/.exec(event)![1]!);
    }
  }
}
