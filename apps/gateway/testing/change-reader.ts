import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { assert } from 'vitest';
import { type AppProcess, type Device, eventually } from '#testing';

/** A client of `GET /changes` that records all received data. */
export class ChangeReader {
  /** Stamps of the received events, in order. */
  readonly stamps: string[] = [];
  heartbeats = 0;
  /** Received blocks that are neither an event nor a heartbeat; a gateway sends none. */
  readonly unexpected: string[] = [];
  /** State of the stream: `ended` by the gateway, or `cut` by a lost connection. */
  end: 'open' | 'ended' | 'cut' = 'open';
  private rest = '';

  private constructor(readonly response: IncomingMessage) {
    response.setEncoding('utf8').on('data', (text: string) => this.take(text));
    response
      .on('error', () => {})
      .on('close', () => (this.end = response.complete ? 'ended' : 'cut'));
  }

  /** Requests a stream on its own connection. */
  static async open(url: string, headers: Record<string, string>): Promise<ChangeReader> {
    const request = get(url, { headers, agent: false });
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    return new ChangeReader(response);
  }

  /** Opens the change stream of a user. Resolves after the first stamp. */
  static async follow(
    { token }: Device,
    gateway: Pick<AppProcess, 'facts'>,
    path = '/changes',
  ): Promise<ChangeReader> {
    const url = `http://127.0.0.1:${String(gateway.facts['port'])}${path}`;
    const reader = await ChangeReader.open(url, { authorization: `Bearer ${token}` });
    assert.equal(reader.status, 200);
    await reader.receives(1);
    return reader;
  }

  get status(): number | undefined {
    return this.response.statusCode;
  }

  get last(): string {
    return this.stamps.at(-1) ?? '';
  }

  /** Waits until at least `count` stamps have arrived. */
  receives(count: number): Promise<void> {
    return eventually(async () => assert.isAtLeast(this.stamps.length, count));
  }

  /** Waits until this stamp or a later stamp has arrived. */
  received(stamp: string): Promise<void> {
    return eventually(async () => assert(this.last >= stamp, `${this.last} is not yet ${stamp}`));
  }

  ends(how: 'ended' | 'cut' = 'ended'): Promise<void> {
    return eventually(async () => assert.equal(this.end, how));
  }

  /** Destroys the connection. */
  leave(): void {
    this.response.destroy();
  }

  private take(text: string): void {
    const blocks = (this.rest + text).split('\n\n');
    this.rest = blocks.pop() ?? '';
    for (const block of blocks) {
      const [, stamp] =
        /^event: changed\ndata: (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)$/.exec(block) ?? [];
      if (stamp !== undefined) this.stamps.push(stamp);
      else if (block === ':') this.heartbeats += 1;
      else this.unexpected.push(block);
    }
  }
}
