import { AsyncLocalStorage } from 'node:async_hooks';
import { networkOf } from '#identity';

/** Who sent the request that the issuer works on. It has no place for that in what it hands to its adapter. */
export interface RequestOrigin {
  readonly address: string;
}

const origins = new AsyncLocalStorage<RequestOrigin>();

/** Runs what answers a request. */
export function inRequestOf<Result>(origin: RequestOrigin, run: () => Result): Result {
  return origins.run(origin, run);
}

/** The address that the present request came from; empty outside of one. */
export function requestAddress(): string {
  return origins.getStore()?.address ?? '';
}

/** What that address counts as for limits. */
export function requestNetwork(): string {
  return networkOf(requestAddress());
}
