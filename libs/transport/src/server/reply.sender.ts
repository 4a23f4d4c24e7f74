import { setTimeout as delay } from 'node:timers/promises';
import { Batcher } from '../wire/batcher.js';
import { encodeReply, joinReplies, type StreamEntry, group } from '../wire/format.js';
import type { RedisLink } from '../wire/redis.link.js';

const retryMs = 250;

interface PendingReply {
  readonly entry: StreamEntry;
  readonly result?: string;
  readonly done: () => void;
}

/**
 * Sends the answers of one replica.
 *
 * Invariants:
 * - A request is acknowledged, deleted and answered in one step, together with all requests of its
 *   batch.
 * - After a fault of Redis it retries an answer for as long as the caller waits.
 */
export class ReplySender {
  private readonly batcher: Batcher<PendingReply>;

  constructor(
    private readonly link: RedisLink,
    private readonly stream: string,
    private readonly now: () => number,
    maxBytes: number,
  ) {
    const bytesOf = ({ result }: PendingReply) =>
      result === undefined ? 0 : Buffer.byteLength(result);
    this.batcher = new Batcher<PendingReply>(
      (answers) => this.sendBatch(answers),
      bytesOf,
      maxBytes,
    );
  }

  /**
   * Acknowledges a request and sends its encoded result, if there is one. Resolves when Redis has
   * executed this or the caller has stopped waiting; never rejects.
   */
  finish(entry: StreamEntry, result?: string): Promise<void> {
    return new Promise((done) => this.batcher.add({ entry, result, done }));
  }

  private async sendBatch(answers: readonly PendingReply[]): Promise<void> {
    const ids = answers.map(({ entry }) => entry.id);
    const replies = byChannel(answers).flatMap(([channel, texts]) => [channel, joinReplies(texts)]);
    const end = () => answers.forEach(({ done }) => done());
    if (await this.isSent(ids, replies)) return end();
    // Not awaited, so that later answers do not wait for the retries of this batch.
    const until = Math.max(...answers.map(({ entry }) => entry.deadline));
    void this.retry(ids, replies, until).then(end);
  }

  private async retry(
    ids: readonly string[],
    replies: readonly string[],
    until: number,
  ): Promise<void> {
    while (this.now() < until) {
      await delay(retryMs);
      if (await this.isSent(ids, replies)) return;
    }
  }

  private async isSent(ids: readonly string[], replies: readonly string[]): Promise<boolean> {
    try {
      await this.link.redis.rpcFinish(this.stream, group, ids.length, ...ids, ...replies);
      return true;
    } catch (error) {
      this.link.logFault(error);
      return false;
    }
  }
}

function byChannel(answers: readonly PendingReply[]): [channel: string, replies: string[]][] {
  const replies = new Map<string, string[]>();
  for (const { entry, result } of answers) {
    if (result === undefined) continue;
    const to = entry.request.reply;
    const others = replies.get(to.channel);
    if (others) others.push(encodeReply(to.id, result));
    else replies.set(to.channel, [encodeReply(to.id, result)]);
  }
  return [...replies];
}
