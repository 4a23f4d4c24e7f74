import { Failure, type CallMetadata, type ReplyOf, type Rpc, type SentOf } from '#contracts';
import type { StreamClient } from './stream.client.js';

/** The facts about one call, and a wait other than the contract's. */
export interface CallOptions extends CallMetadata {
  /** How long to wait, in milliseconds. Default: the contract's `deadlineMs`. */
  readonly budgetMs?: number;
}

/**
 * Calls the service that answers a contract.
 *
 * @throws Failure only: the handler's own, `unavailable` where it can't be answered in time, `internal` for anything
 * else.
 */
export async function call<C extends Rpc>(
  client: StreamClient,
  contract: C,
  request: SentOf<C>,
  options: CallOptions,
): Promise<ReplyOf<C>> {
  const { requestId, fingerprint, correlationId, budgetMs = contract.deadlineMs } = options;
  const metadata = {
    requestId,
    ...(fingerprint !== undefined && { fingerprint }),
    ...(correlationId !== undefined && { correlationId }),
  };
  const answer = await client.request(contract, request, { budgetMs, metadata });
  const reply = contract.reply.safeParse(answer);
  if (reply.success) return reply.data as ReplyOf<C>;
  const cause = new Error(`the reply of ${contract.pattern} is not what its contract says`, { cause: reply.error });
  throw new Failure('internal', { cause });
}
