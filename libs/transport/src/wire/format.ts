import { JsonText } from '#contracts';

/**
 * The format of requests and replies, and the names of Redis keys and channels. During an upgrade,
 * processes of two releases use them together: add fields, but never change a field or a name.
 */

/** The only consumer group of every request stream; its consumers are the replicas. */
export const consumerGroup = 'replicas';

/** Redis keys of one service. A script can use all in a Cluster, because they share a hash tag. */
export interface ServiceKeys {
  /** Stream: requests that are waiting or running. */
  readonly requests: string;
  /** Sorted set: ids of replicas, each with the Redis time (ms) at which its heartbeat expires. */
  readonly heartbeats: string;
  /** Stream: requests that were invalid, or had no answer after repeated deliveries. */
  readonly deadLetters: string;
}

export function serviceKeys(service: string): ServiceKeys {
  const hashTag = `{rpc:${service}}`;
  return {
    requests: `${hashTag}:requests`,
    heartbeats: `${hashTag}:alive`,
    deadLetters: `${hashTag}:dead`,
  };
}

/** Returns the channel on which one client process receives its replies. */
export function replyChannel(client: string): string {
  return `rpc:replies:${client}`;
}

/** Maximum time limit of a call in milliseconds; a greater one is reduced to it. */
export const maxBudgetMs = 60_000;
/** Age in milliseconds at which requests are deleted from the stream, long after any deadline. */
export const requestRetentionMs = 2 * maxBudgetMs;

/** A request as it is encoded in a stream entry. */
export interface WireRequest {
  readonly pattern: string;
  /** Payload as JSON. */
  readonly data: string;
  /** Time from the addition to the stream until the deadline, in milliseconds. */
  readonly timeLimitMs: number;
  /** Data about the call: request id, fingerprint, correlation id, trace context. */
  readonly metadata: Readonly<Record<string, string>>;
  /** Redis channel for the reply, and the id by which the client finds the call. */
  readonly reply: { readonly channel: string; readonly id: string };
}

/** A request that was read from the stream. */
export interface StreamEntry {
  /** Id of the entry in the stream, `<Redis time in ms>-<sequence>`. */
  readonly id: string;
  /** Redis time (ms) at which the caller stops waiting. */
  readonly deadline: number;
  readonly request: WireRequest;
}

/**
 * Returns a request's payload as JSON. A {@link JsonText} in a field is inserted unchanged.
 *
 * @throws TypeError for a value that JSON cannot represent, such as a BigInt.
 */
export function encodePayload(payload: object): string {
  const fields = Object.entries(payload).filter(([, value]) => value !== undefined);
  const members = fields.map(([name, value]) => {
    const json = value instanceof JsonText ? value.toString() : JSON.stringify(value);
    return `${JSON.stringify(name)}:${json}`;
  });
  return `{${members.join(',')}}`;
}

/** Returns the fields of a stream entry, names and values alternating. */
export function encodeRequest(request: WireRequest): string[] {
  const { pattern, data, timeLimitMs, metadata, reply } = request;
  const fields = ['pattern', pattern, 'data', data, 'budget', String(timeLimitMs)];
  fields.push('meta', JSON.stringify(metadata), 'channel', reply.channel, 'id', reply.id);
  return fields;
}

/** Reads a stream entry; `undefined` if it is not a request. */
export function decodeEntry(id: string, fields: readonly string[]): StreamEntry | undefined {
  const fieldValues: Record<string, string | undefined> = {};
  for (let index = 0; index + 1 < fields.length; index += 2)
    fieldValues[fields[index]!] = fields[index + 1];
  const { pattern, data, channel, id: replyId } = fieldValues;
  const timeLimitMs = Number(fieldValues.budget);
  const metadata = parseObject(fieldValues.meta);
  if (!pattern || data === undefined || !(timeLimitMs > 0) || !metadata || !channel || !replyId)
    return undefined;
  const request = { pattern, data, timeLimitMs, metadata, reply: { channel, id: replyId } };
  return { id, deadline: addedAt(id) + timeLimitMs, request };
}

/** Returns the Redis time (ms) at which an entry was added. */
export function addedAt(entryId: string): number {
  return Number(entryId.slice(0, entryId.indexOf('-')));
}

/** The outcome of a call: a value, or an error for the caller. `undefined` values are omitted. */
export type WireResult = { readonly value?: unknown } | { readonly error: unknown };

/**
 * The JSON of a result. If `text` is set, a JsonText follows after a tab: the value of the field
 * `text`, or the whole value if `text` is empty.
 */
type EncodedResult = { value?: unknown; error?: unknown; text?: string };

/** Bytes that separate the parts of a message. */
const lineFeed = 10;
const tab = 9;

/**
 * Returns a result as JSON. If the value or one of its fields is a {@link JsonText}, that text
 * follows unchanged after a tab, so neither service nor gateway parses it.
 *
 * @throws TypeError for a value that JSON cannot represent, such as a BigInt.
 */
export function encodeResult(result: WireResult): string {
  const value = 'value' in result ? result.value : undefined;
  if (value instanceof JsonText) return `{"text":""}\t${value.toString()}`;
  if (typeof value === 'object' && value !== null)
    for (const [field, part] of Object.entries(value))
      if (part instanceof JsonText)
        return [
          JSON.stringify({ value: { ...value, [field]: undefined }, text: field }),
          part.toString(),
        ].join('\t');
  return JSON.stringify(result);
}

/** Returns a reply: id, line feed, result. Clients match the id before they parse the result. */
export function encodeReply(id: string, result: string): string {
  return `${id}\n${result}`;
}

/**
 * Joins replies into one message, separated by line feeds. A result must not contain a line feed.
 * `JSON.stringify` writes none. JSON from Postgres can contain some: parse and stringify it first.
 */
export function joinReplies(replies: readonly string[]): string {
  return replies.join('\n');
}

/** Calls `onReply` for each reply of a message; the result is parsed on demand. */
export function decodeReplies(
  message: Buffer,
  onReply: (id: string, result: () => WireResult) => void,
): void {
  for (let start = 0; start < message.length;) {
    const idEnd = message.indexOf(lineFeed, start);
    if (idEnd < 0) return;
    const nextLineFeed = message.indexOf(lineFeed, idEnd + 1);
    const end = nextLineFeed < 0 ? message.length : nextLineFeed;
    onReply(message.toString('latin1', start, idEnd), () =>
      decodeResult(message.subarray(idEnd + 1, end)),
    );
    start = end + 1;
  }
}

function decodeResult(encoded: Buffer): WireResult {
  try {
    const tabIndex = encoded.indexOf(tab);
    const json = encoded.toString('utf8', 0, tabIndex < 0 ? encoded.length : tabIndex);
    const { text: field, ...result } = JSON.parse(json) as EncodedResult;
    if (field === undefined) return result;
    const jsonText = JsonText.from(encoded.subarray(tabIndex + 1));
    return { value: field === '' ? jsonText : { ...(result.value as object), [field]: jsonText } };
  } catch (error) {
    return { error };
  }
}

function parseObject(json: string | undefined): Record<string, string> | undefined {
  try {
    const value: unknown = JSON.parse(json ?? '{}');
    return typeof value === 'object' && value !== null
      ? (value as Record<string, string>)
      : undefined;
  } catch {
    return undefined;
  }
}
