import { setTimeout as delay } from 'node:timers/promises';
import { Batcher } from '../wire/batcher.js';
import { encodeReply, joinReplies, type StreamEntry, consumerGroup } from '../wire/format.js';
import type { RedisLink } from '../wire/redis-link.js';

/** Pause before a reply that Redis did not accept is sent again, in milliseconds. */
const retryMs = 250;

/** A request to acknowledge, and its reply. */
interface PendingReply {
  readonly entry: StreamEntry;
  /** Encoded result; undefined to acknowledge the request without a reply. */
  readonly result?: string;
  /** Called when Redis has the reply, or the caller no longer waits. */
  readonly onSent: () => void;
}

/**
 * Sends the replies of one replica.
 *
 * Invariants:
 * - A request is acknowledged, deleted and answered in one step, together with all requests of its
 *   batch.
 * - After a fault of Redis it sends a batch again for as long as one of the callers waits.
 */
export class ReplySender {
  private readonly batcher: Batcher<PendingReply>;

  constructor(
    private readonly link: RedisLink,
    private readonly stream: string,
    private readonly now: () => number,
    maxBytes: number,
  ) {
    const countBytes = ({ result }: PendingReply) =>
      result === undefined ? 0 : Buffer.byteLength(result);
    this.batcher = new Batcher<PendingReply>(
      (pending) => this.sendBatch(pending),
      countBytes,
      maxBytes,
    );
  }

  /**
   * Acknowledges a request, and sends its encoded result unless that is undefined. Resolves when
   * Redis has done both, or when no caller of the batch waits any more; never rejects.
   */
  finish(entry: StreamEntry, result?: string): Promise<void> {
    return new Promise((onSent) => this.batcher.add({ entry, result, onSent }));
  }

  private async sendBatch(pending: readonly PendingReply[]): Promise<void> {
    const ids = pending.map(({ entry }) => entry.id);
    const replies = groupByChannel(pending).flatMap(([channel, encodedReplies]) => [
      channel,
      joinReplies(encodedReplies),
    ]);
    const finishAll = () => pending.forEach(({ onSent }) => onSent());
    if (await this.trySend(ids, replies)) return finishAll();
    // Not awaited, so that later replies do not wait for the retries of this batch.
    const lastDeadline = Math.max(...pending.map(({ entry }) => entry.deadline));
    void this.sendAgainUntil(ids, replies, lastDeadline).then(finishAll);
  }

  private async sendAgainUntil(
    ids: readonly string[],
    replies: readonly string[],
    lastDeadline: number,
  ): Promise<void> {
    while (this.now() < lastDeadline) {
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
    const address = entry.request.reply;
    const channelReplies = replies.get(address.channel);
    if (channelReplies) channelReplies.push(encodeReply(address.id, result));
    else replies.set(address.channel, [encodeReply(address.id, result)]);
  }
  return [...replies];
}
