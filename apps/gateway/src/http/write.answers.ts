import {
  Failure,
  type FailureData,
  failureSchema,
  JsonText,
  type ReplyOf,
  requestDeletion,
  type Rpc,
  subscribe,
  updateSubscription,
  uploadEpisodes,
} from '#contracts';

/** A successful answer; a body that is JSON already goes out as it is. */
export interface HttpAnswer {
  status: number;
  body: unknown;
}

/** The writes of the interface and how each reply looks in HTTP. */
const writes = [
  write(subscribe, (body) => ({ status: 200, body })),
  write(updateSubscription, (body) => ({ status: 200, body })),
  write(uploadEpisodes, (body) => ({ status: 200, body })),
  write(requestDeletion, ({ deletionId }) => ({
    status: 202,
    body: { deletion_id: deletionId, message: 'Deletion request was received and will be processed' },
  })),
];

function write<C extends Rpc>(contract: C, answer: (reply: ReplyOf<C>) => HttpAnswer) {
  return { contract, answer: answer as (reply: unknown) => HttpAnswer };
}

/** The answer to a write. */
export function writeAnswer<C extends Rpc>(contract: C, reply: ReplyOf<C>): HttpAnswer {
  const found = writes.find((candidate) => candidate.contract === (contract as Rpc));
  if (!found) throw new Error(`${contract.pattern} is no write`);
  return found.answer(reply);
}

/** The first answer under a key that comes again with another operation (docs/interface.md, "Sending again"). */
export function repeatedAnswer(first: FailureData['first']): HttpAnswer | { failure: Failure } | undefined {
  const found = writes.find(({ contract }) => contract.pattern === first?.pattern);
  if (!found || typeof first?.answer !== 'object' || first.answer === null) return undefined;
  const answer = first.answer as { reply?: unknown; json?: unknown; failure?: unknown };
  const failure = failureSchema.safeParse(answer.failure);
  if (failure.success) return { failure: new Failure(failure.data.code) };
  const reply = found.contract.reply.safeParse('json' in answer ? JsonText.of(answer.json) : answer.reply);
  return reply.success ? found.answer(reply.data) : undefined;
}
