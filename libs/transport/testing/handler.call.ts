import { randomUUID } from 'node:crypto';
import { CallContext } from '../src/server/call.context.js';

/** A call as a handler sees it. */
export function call(requestId: string = randomUUID(), budgetMs = 10_000): CallContext {
  const request = { pattern: 'test', data: '', budgetMs, until: budgetMs, metadata: { requestId } };
  return new CallContext([
    { id: `${Date.now()}-0`, deadline: performance.now() + budgetMs, request },
    () => performance.now(),
  ]);
}
