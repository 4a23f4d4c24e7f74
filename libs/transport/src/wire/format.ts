import { JsonText } from '#contracts';

/**
 * The format of requests and replies, and the names of keys and channels. Processes of the release before use the same:
 * add fields, never change one, and never change a name.
 */

/** The one consumer group of every request stream; its consumers are the replicas. */
export const group = 'replicas';

/** The keys of one service share a hash tag, so that one script can touch them all in a Redis Cluster. */
export interface ServiceKeys {
  /** Stream: requests that are waiting or running. */
  readonly requests: string;
  /** Sorted set: replica id to the Redis time (ms) until which it counts as alive. */
  readonly alive: string;
  /** Stream: requests that were given up. */
  readonly dead: string;
}

export function serviceKeys(service: string): ServiceKeys {
  const tag = `{rpc:${service}}`;
  return { requests: `${tag}:requests`, alive: `${tag}:alive`, dead: `${tag}:dead` };
}

/** The channel that one client process receives its replies on. */
export function replyChannel(client: string): string {
  return `rpc:replies:${client}`;
}

/**
 * The longest budget a request may have. Requests older than twice this are trimmed, so that no request whose
 * deadline is still ahead ever is.
 */
export const longestBudgetMs = 60_000;
export const retentionMs = 2 * longestBudgetMs;

/** A request as it travels. */
export interface Request {
  readonly pattern: string;
  /** JSON. */
  readonly data: string;
  /** How long its caller waits, counted from when it was added to the stream. */
  readonly budgetMs: number;
  /** Out-of-band facts: request id, trace context. */
  readonly metadata: Readonly<Record<string, string>>;
  /** Whether no dead letter may keep its data. Only what makes dead letters reads it, so it is not decoded. */
  readonly secret?: boolean;
  /** Where the reply goes, and what names it there. */
  readonly reply: { readonly channel: string; readonly id: string };
}

/** A request as it was read from the stream. */
export interface Entry {
  /** The stream's id of it, `<Redis time in ms>-<sequence>`. */
  readonly id: string;
  /** Redis time (ms) after which nobody waits for the answer any more. */
  readonly deadline: number;
  readonly request: Request;
}

/**
 * The value of `until`, a second deadline of 0.1.0 (a Redis time in ms). A replica of 0.1.0 takes an entry without it for
 * no request; later ones ignore it. This value is later than any budget.
 */
const never = '9999999999999';

/**
 * A request's payload as JSON. A field that is a {@link JsonText} goes in as it is.
 *
 * @throws TypeError for what JSON does not have.
 */
export function encodePayload(payload: object): string {
  const fields = Object.entries(payload).filter(([, value]) => value !== undefined);
  const members = fields.map(([name, value]) => {
    const json = value instanceof JsonText ? value.toString() : JSON.stringify(value);
    return `${JSON.stringify(name)}:${json}`;
  });
  return `{${members.join(',')}}`;
}

/** The fields of a stream entry, names and values in turn. */
export function encodeRequest(request: Request): string[] {
  const fields = ['pattern', request.pattern, 'data', request.data];
  fields.push('budget', String(request.budgetMs), 'until', never);
  fields.push('meta', JSON.stringify(request.metadata));
  if (request.secret) fields.push('secret', '1');
  fields.push('channel', request.reply.channel, 'id', request.reply.id);
  return fields;
}

/** Reads a stream entry; `undefined` when it is no request. */
export function decodeEntry(id: string, fields: readonly string[]): Entry | undefined {
  const field: Record<string, string | undefined> = {};
  for (let at = 0; at + 1 < fields.length; at += 2) field[fields[at]!] = fields[at + 1];
  const { pattern, data, channel, id: replyId } = field;
  const budgetMs = Number(field.budget);
  const metadata = parseObject(field.meta);
  if (!pattern || data === undefined || !(budgetMs > 0) || !metadata || !channel || !replyId) return undefined;
  const request = { pattern, data, budgetMs, metadata, reply: { channel, id: replyId } };
  return { id, deadline: timeOf(id) + budgetMs, request };
}

/** The Redis time (ms) at which an entry was added. */
export function timeOf(entryId: string): number {
  return Number(entryId.slice(0, entryId.indexOf('-')));
}

/** What a call ends with: a value, or the error that the caller gets. `undefined` travels as an absent value. */
export type Result = { readonly value?: unknown } | { readonly error: unknown };

/** The part of a result that is JSON on the wire: `text` names the field of the value that comes after it as a text. */
type EncodedResult = { value?: unknown; error?: unknown; text?: string };

const lineFeed = 10;
const tab = 9;

/**
 * A result as JSON. A {@link JsonText}, be it the value or a field of it, follows after a tab as it is: neither end
 * parses it.
 *
 * @throws TypeError for what JSON does not have.
 */
export function encodeResult(result: Result): string {
  const value = 'value' in result ? result.value : undefined;
  if (value instanceof JsonText) return `{"text":""}\t${value.toString()}`;
  if (typeof value === 'object' && value !== null)
    for (const [field, part] of Object.entries(value))
      if (part instanceof JsonText)
        return `${JSON.stringify({ value: { ...value, [field]: undefined }, text: field })}\t${part.toString()}`;
  return JSON.stringify(result);
}

/** A reply is the request's id, a line feed and a result: it is matched with its call before its result is parsed. */
export function encodeReply(id: string, result: string): string {
  return `${id}\n${result}`;
}

/** A message holds one or more replies with line feeds between them, as JSON has none inside. */
export function joinReplies(replies: readonly string[]): string {
  return replies.join('\n');
}

/** Passes on the replies of a message; the result is parsed only when it is asked for. */
export function decodeReplies(message: Buffer, onReply: (id: string, result: () => Result) => void): void {
  for (let start = 0; start < message.length;) {
    const middle = message.indexOf(lineFeed, start);
    if (middle < 0) return;
    const next = message.indexOf(lineFeed, middle + 1);
    const end = next < 0 ? message.length : next;
    onReply(message.toString('latin1', start, middle), () => decodeResult(message.subarray(middle + 1, end)));
    start = end + 1;
  }
}

function decodeResult(encoded: Buffer): Result {
  try {
    const split = encoded.indexOf(tab);
    const json = encoded.toString('utf8', 0, split < 0 ? encoded.length : split);
    const { text: field, ...result } = JSON.parse(json) as EncodedResult;
    if (field === undefined) return result;
    const text = JsonText.from(encoded.subarray(split + 1));
    return { value: field === '' ? text : { ...(result.value as object), [field]: text } };
  } catch (error) {
    return { error };
  }
}

function parseObject(json: string | undefined): Record<string, string> | undefined {
  try {
    const value: unknown = JSON.parse(json ?? '{}');
    return typeof value === 'object' && value !== null ? (value as Record<string, string>) : undefined;
  } catch {
    return undefined;
  }
}
