import type { z } from 'zod';
import type { JsonText } from './json.text.js';

/** The services of every system. A contract's pattern starts with the name of its service. */
export const services = ['subscription', 'episode', 'deletion', 'account'] as const;
/** A service that receives messages. `feed` does not run if FEEDS is `off`. */
export type Service = (typeof services)[number] | 'feed';

/**
 * A message type between an app and a service. Both ends import it, and validate the messages that
 * they receive. Changes only add optional fields, so that the apps of one release can call services
 * of the next.
 */
export interface Rpc<Request extends z.ZodType = z.ZodType, Reply extends z.ZodType = z.ZodType> {
  /** `<service>.<verb>`, also the name of the handler. */
  readonly pattern: `${Service}.${string}`;
  readonly service: Service;
  readonly request: Request;
  readonly reply: Reply;
  /** Time limit of the caller in milliseconds. */
  readonly deadlineMs: number;
  /** True for a write: it has a request id and takes effect once for any number of deliveries. */
  readonly write: boolean;
  /** True for a request with a secret or its hash: logs omit its payload. */
  readonly secret: boolean;
}

/** The payload of a request, as the service receives it after validation. */
export type RequestOf<C extends Rpc> = z.output<C['request']>;
/** The payload of a reply, as the caller receives it after validation. */
export type ReplyOf<C extends Rpc> = z.output<C['reply']>;

/** A request of a caller: each field can be a {@link JsonText}, which is forwarded unchanged. */
export type SentOf<C extends Rpc> = WithJsonTexts<RequestOf<C>>;
type WithJsonTexts<Request> = {
  [Field in keyof Request]: Request[Field] | JsonText<Request[Field]>;
};

/** Default deadline in milliseconds: enough for another replica to claim and run a call. */
export const defaultDeadlineMs = 5_000;

/**
 * Defines a contract (docs/design/teams.md, "A message changes"). Its service is the part of the
 * pattern before the dot.
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

/** Metadata of a call, outside its payload. */
export interface CallMetadata {
  /** A UUID, equal for all deliveries of a write; derived from an `Idempotency-Key` if present. */
  readonly requestId: string;
  /** Hash of the request in hex, for a write with an `Idempotency-Key`. */
  readonly fingerprint?: string | undefined;
  /** `X-Request-Id` of the HTTP request, for logs. */
  readonly correlationId?: string;
}
