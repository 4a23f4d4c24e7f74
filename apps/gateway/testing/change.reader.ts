import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { assert } from 'vitest';
import { type AppProcess, type Device, eventually } from '#testing';

/** A client of `GET /changes` that notes all that it is sent. */
export class ChangeReader {
  /** The stamps of its events, in order. */
  readonly stamps: string[] = [];
  /** Signs of life. */
  beats = 0;
  /** Whatever else came; there is never anything. */
  readonly strange: string[] = [];
  /** How it ended: in order, or by a lost connection. */
  end: 'open' | 'ended' | 'cut' = 'open';
  private rest = '';

  private constructor(readonly response: IncomingMessage) {
    response.setEncoding('utf8').on('data', (text: string) => this.take(text));
    response
      .on('error', () => {})
      .on('close', () => (this.end = response.complete ? 'ended' : 'cut'));
  }

  /** Asks for a stream, on a connection of its own, as nothing else is on it. */
  static async ask(url: string, headers: Record<string, string>): Promise<ChangeReader> {
    const request = get(url, { headers, agent: false });
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    return new ChangeReader(response);
  }

  /** Follows a user's changes, having heard the first stamp. */
  static async of(
    { token }: Device,
    gateway: Pick<AppProcess, 'facts'>,
    path = '/changes',
  ): Promise<ChangeReader> {
    const url = `http://127.0.0.1:${String(gateway.facts['port'])}${path}`;
    const reader = await ChangeReader.ask(url, { authorization: `Bearer ${token}` });
    assert.equal(reader.status, 200);
    await reader.hears(1);
    return reader;
  }

  get status(): number | undefined {
    return this.response.statusCode;
  }

  get last(): string {
    return this.stamps.at(-1) ?? '';
  }

  /** Waits until it has heard so many stamps. */
  hears(count: number): Promise<void> {
    return eventually(async () => assert.isAtLeast(this.stamps.length, count));
  }

  /** Waits until it has heard of this stamp, or of a later one. */
  knows(stamp: string): Promise<void> {
    return eventually(async () => assert(this.last >= stamp, `${this.last} is not yet ${stamp}`));
  }

  ends(how: 'ended' | 'cut' = 'ended'): Promise<void> {
    return eventually(async () => assert.equal(this.end, how));
  }

  /** Goes away. */
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
      else if (block === ':') this.beats += 1;
      else this.strange.push(block);
    }
  }
}
