import type { z } from 'zod';
import type { JsonText } from './json-text.js';

/** The services that always run. The pattern of a contract starts with the name of its service. */
export const services = ['subscription', 'episode', 'deletion', 'account'] as const;
/** A service that receives messages; `feed` does not run if FEEDS is `off`. */
export type Service = (typeof services)[number] | 'feed';

/**
 * A type of message from a caller to a service. Both import the type, and validate the messages
 * that they receive. Changes only add optional fields, so that apps of one release can call
 * services of the next release.
 */
export interface Rpc<Request extends z.ZodType = z.ZodType, Reply extends z.ZodType = z.ZodType> {
  /** Name of the message: `<service>.<verb>`. */
  readonly pattern: `${Service}.${string}`;
  readonly service: Service;
  readonly request: Request;
  readonly reply: Reply;
  /** Time that a caller waits for the reply, in milliseconds. */
  readonly deadlineMs: number;
  /** True for a write. A write takes effect once, however often its request is delivered. */
  readonly write: boolean;
  /** True for a request with a secret or the hash of a secret. Logs omit the payload. */
  readonly secret: boolean;
}

/** The payload of a request, as the service receives it after validation. */
export type RequestOf<C extends Rpc> = z.output<C['request']>;
/** The payload of a reply, as the caller receives it after validation. */
export type ReplyOf<C extends Rpc> = z.output<C['reply']>;

/** The payload that a caller sends: it can replace a field by its {@link JsonText}. */
export type SentOf<C extends Rpc> = WithJsonTexts<RequestOf<C>>;
/** A payload in which each field can be its JSON text. */
type WithJsonTexts<Request> = {
  [Field in keyof Request]: Request[Field] | JsonText<Request[Field]>;
};

/** Default deadline in ms: enough for another replica to take over a request and run it. */
export const defaultDeadlineMs = 5_000;

/**
 * Defines a contract. The name of the service is the pattern up to the dot. Rules for changes of a
 * contract are in docs/design/teams.md, "A message changes".
 */
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

/** Metadata of a call, sent in addition to its payload. */
export interface CallMetadata {
  /** UUID of the write: random, or derived from an `Idempotency-Key`. Redeliveries repeat it. */
  readonly requestId: string;
  /** Hash of the HTTP request in hex; only of a write with an `Idempotency-Key`. */
  readonly fingerprint?: string | undefined;
  /** `X-Request-Id` of the HTTP request, for logs. */
  readonly correlationId?: string;
}
