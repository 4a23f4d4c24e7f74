import { setTimeout as delay } from 'node:timers/promises';
import { Batcher } from '../wire/batcher.js';
import { encodeReply, joinReplies, type StreamEntry, consumerGroup } from '../wire/format.js';
import type { RedisLink } from '../wire/redis-link.js';

/** Pause before a reply that Redis did not accept is sent again, in milliseconds. */
const retryMs = 250;

/** A request to acknowledge, and its reply. */
interface PendingReply {
  readonly entry: StreamEntry;
  readonly result?: string;
  /** Called when Redis has the reply, or its caller no longer waits. */
  readonly onSent: () => void;
}

/**
 * Sends the replies of one replica.
 *
 * Invariants:
 * - A request is acknowledged, deleted and answered in one step, together with all requests of its
 *   batch.
 * - After a fault of Redis it sends a reply again for as long as the caller waits.
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
      (pending) => this.sendBatch(pending),
      bytesOf,
      maxBytes,
    );
  }

  /**
   * Acknowledges a request, and sends its encoded result unless that is undefined. Resolves when
   * Redis has done both, or when the caller no longer waits; never rejects.
   */
  finish(entry: StreamEntry, result?: string): Promise<void> {
    return new Promise((onSent) => this.batcher.add({ entry, result, onSent }));
  }

  private async sendBatch(pending: readonly PendingReply[]): Promise<void> {
    const ids = pending.map(({ entry }) => entry.id);
    const replies = groupByChannel(pending).flatMap(([channel, texts]) => [
      channel,
      joinReplies(texts),
    ]);
    const finishAll = () => pending.forEach(({ onSent }) => onSent());
    if (await this.trySend(ids, replies)) return finishAll();
    // Not awaited, so that later replies do not wait for the retries of this batch.
    const untilMs = Math.max(...pending.map(({ entry }) => entry.deadline));
    void this.sendAgainUntil(ids, replies, untilMs).then(finishAll);
  }

  private async sendAgainUntil(
    ids: readonly string[],
    replies: readonly string[],
    untilMs: number,
  ): Promise<void> {
    while (this.now() < untilMs) {
      await delay(retryMs);
      if (await this.trySend(ids, replies)) return;
    }
  }

  private async trySend(ids: readonly string[], replies: readonly string[]): Promise<boolean> {
    try {
      await this.link.redis.rpcFinish(this.stream, consumerGroup, ids.length, ...ids, ...replies);
      return true;
    } catch (error) {
      this.link.logFault(error);
      return false;
    }
  }
}

function groupByChannel(pending: readonly PendingReply[]): [channel: string, replies: string[]][] {
  const replies = new Map<string, string[]>();
  for (const { entry, result } of pending) {
    if (result === undefined) continue;
    const to = entry.request.reply;
    const others = replies.get(to.channel);
    if (others) others.push(encodeReply(to.id, result));
    else replies.set(to.channel, [encodeReply(to.id, result)]);
  }
  return [...replies];
}
