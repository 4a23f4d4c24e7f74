import { unavailable } from '#contracts';
import { Batch } from '../wire/batch.js';
import { retentionMs } from '../wire/format.js';
import type { RedisLink } from '../wire/redis.link.js';

interface Addition {
  readonly fields: readonly string[];
  readonly done: (error?: Error) => void;
}

/** Most bytes of requests that are added in one step: Redis serves nobody else meanwhile. */
const maxBytes = 4 * 2 ** 20;

/** Adds a client's requests to the stream of one service, in batches. */
export class RequestSender {
  private readonly batch = new Batch<Addition>((additions) => this.sendBatch(additions), bytesOf, maxBytes);

  constructor(
    private readonly link: RedisLink,
    private readonly stream: string,
    private readonly now: () => number,
  ) {}

  /** Resolves when Redis has the request, and rejects with the `unavailable` to throw otherwise. */
  send(fields: readonly string[]): Promise<void> {
    return new Promise((resolve, reject) => {
      this.batch.add({ fields, done: (error) => (error ? reject(error) : resolve()) });
    });
  }

  private async sendBatch(additions: readonly Addition[]): Promise<void> {
    const oldest = Math.floor(this.now() - retentionMs);
    const counted = additions.flatMap(({ fields }) => [fields.length, ...fields]);
    try {
      const ids = await this.link.redis.rpcAdd(this.stream, oldest, ...counted);
      for (const [index, { done }] of additions.entries())
        done(ids[index] ? undefined : unavailable('the service has no stream'));
    } catch (error) {
      for (const { done } of additions) done(unavailable('Redis did not take the request', error));
    }
  }
}

function bytesOf({ fields }: Addition): number {
  return fields.reduce((bytes, field) => bytes + Buffer.byteLength(field), 0);
}
