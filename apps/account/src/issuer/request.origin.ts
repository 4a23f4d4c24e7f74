import { AsyncLocalStorage } from 'node:async_hooks';
import { networkOf } from '#identity';

/** Origin of the current request, which oidc-provider does not pass to its adapter. */
export interface RequestOrigin {
  readonly address: string;
}

const origins = new AsyncLocalStorage<RequestOrigin>();

/** Runs a function with the origin of a request. */
export function runWithOrigin<Result>(origin: RequestOrigin, run: () => Result): Result {
  return origins.run(origin, run);
}

/** Returns the client address of the current request; an empty string outside of a request. */
export function requestAddress(): string {
  return origins.getStore()?.address ?? '';
}

/** Returns the network of {@link requestAddress}, for limits. */
export function requestNetwork(): string {
  return networkOf(requestAddress());
}
