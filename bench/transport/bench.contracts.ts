import { z } from 'zod';
import { rpc } from '#contracts';

/** The transports that are compared: ours, and two that Nest brings along. */
export const kinds = ['streams', 'redis', 'tcp'] as const;
export type Kind = (typeof kinds)[number];

/**
 * What every transport carries. Its handler does next to nothing, so that the way there and back is what is measured.
 */
export const echo = rpc({
  pattern: 'episode.echo',
  write: false,
  request: z.object({ text: z.string() }),
  reply: z.object({ text: z.string() }),
});

/** Where a process of the bench finds its peers; a variant has a Redis or a port of its own. */
export interface Place {
  readonly kind: Kind;
  /** The variant's Redis; empty for TCP. */
  readonly redisUrl: string;
  /** The TCP port; 0 for Redis. */
  readonly port: number;
}

/** What a child process is started with, as JSON. */
export interface BenchProcessOptions extends Place {
  readonly role: 'gateway' | 'replica';
}

/** Asks a gateway to keep `callers` calls in flight for a while. */
export interface Burst {
  readonly callers: number;
  readonly ms: number;
}

/** What a gateway measured. */
export interface BurstResult {
  readonly calls: number;
  readonly seconds: number;
  /** Milliseconds that half of the calls, and 99 of 100, stayed below. */
  readonly p50: number;
  readonly p99: number;
}

/** What a process used up since it started. */
export interface Usage {
  /** User and system time, in microseconds. */
  readonly cpu: number;
  /** Handlers run; 0 at a gateway. */
  readonly runs: number;
}
