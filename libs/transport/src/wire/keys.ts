/** The names of keys and channels. Processes of the release before use the same names: never change one. */

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
