import type { z } from 'zod';
import type { JsonText } from './json.text.js';

/** The services behind the edges. A contract's pattern starts with the name of the one that answers it. */
export const services = ['subscription', 'episode', 'deletion', 'account'] as const;
export type Service = (typeof services)[number];

/**
 * One message between the gateway and a service, as a value: both ends import it, each validates what it receives, and
 * a wrong request or reply type does not compile. Fields are only ever added, and only as optional ones, so that
 * yesterday's gateway talks to today's service.
 */
export interface Rpc<Request extends z.ZodType = z.ZodType, Reply extends z.ZodType = z.ZodType> {
  /** `<service>.<verb>`: also the name of the handler. */
  readonly pattern: `${Service}.${string}`;
  readonly service: Service;
  readonly request: Request;
  readonly reply: Reply;
  /** How long the caller waits, in milliseconds. */
  readonly deadlineMs: number;
  /** A write carries a request id and takes effect once for it, however often it is delivered. */
  readonly write: boolean;
  /** Its request names a secret, if only by a hash: no dead letter and no log keeps its payload. */
  readonly secret: boolean;
}

export type RequestOf<C extends Rpc> = z.output<C['request']>;
export type ReplyOf<C extends Rpc> = z.output<C['reply']>;

/** A request as its caller gives it: a field may be a {@link JsonText}, which is passed on as it is. */
export type SentOf<C extends Rpc> = Sent<RequestOf<C>>;
type Sent<Request> = { [Field in keyof Request]: Request[Field] | JsonText<Request[Field]> };

/** The default deadline: longer than it takes another replica to take a call over and run it. In milliseconds. */
export const defaultDeadlineMs = 5_000;

export function rpc<Request extends z.ZodType, Reply extends z.ZodType>(contract: {
  pattern: `${Service}.${string}`;
  request: Request;
  reply: Reply;
  write: boolean;
  deadlineMs?: number;
  secret?: boolean;
}): Rpc<Request, Reply> {
  const service = contract.pattern.slice(0, contract.pattern.indexOf('.')) as Service;
  return Object.freeze({ deadlineMs: defaultDeadlineMs, secret: false, ...contract, service });
}

/** The metadata of a call, sent beside the payload. */
export interface CallMetadata {
  /**
   * Identifies a write, however often it arrives, within its user: a UUID, made of the client's `Idempotency-Key` where
   * there is one.
   */
  readonly requestId: string;
  /** Of a write with such a key: what the key stands for, a hash of the request in hex. */
  readonly fingerprint?: string | undefined;
  /** The `X-Request-Id` of the HTTP request, for logs. */
  readonly correlationId?: string;
}
