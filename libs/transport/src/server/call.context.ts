import { BaseRpcContext } from '@nestjs/microservices';
import type { CallMetadata } from '#contracts';
import { type Entry, timeOf } from '../wire/format.js';

/** What a handler can know about a call besides its payload; the second parameter of a method with `@Handle`. */
export class CallContext extends BaseRpcContext<[entry: Entry, now: () => number]> implements CallMetadata {
  /** Identifies the caller's request, however often it is delivered. */
  get requestId(): string {
    return this.entry.request.metadata.requestId ?? this.entry.id;
  }

  /** What a key of the client's stands for; none where the client sent none. */
  get fingerprint(): string | undefined {
    return this.entry.request.metadata.fingerprint;
  }

  /** The caller's name for its request, for logs. */
  get correlationId(): string | undefined {
    return this.entry.request.metadata.correlationId;
  }

  /** The pattern that was called. */
  get pattern(): string {
    return this.entry.request.pattern;
  }

  /** All out-of-band facts that the caller attached. */
  getMetadata(): Readonly<Record<string, string>> {
    return this.entry.request.metadata;
  }

  /** When the request was sent, by Redis' time and in milliseconds: the same however often it is delivered. */
  get arrivedMs(): number {
    return timeOf(this.entry.id);
  }

  /** How long ago the request was sent, by Redis' time. */
  ageMs(): number {
    return this.args[1]() - this.arrivedMs;
  }

  /** How long the caller still waits, by Redis' time; negative once it has given up. */
  remainingMs(): number {
    const [entry, now] = this.args;
    return entry.deadline - now();
  }

  private get entry(): Entry {
    return this.args[0];
  }
}
