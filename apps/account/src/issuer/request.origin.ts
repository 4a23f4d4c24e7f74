import { AsyncLocalStorage } from 'node:async_hooks';
import { networkOf } from '#identity';

/** The origin of the current request. oidc-provider does not pass it to its adapter. */
export interface RequestOrigin {
  readonly address: string;
}

const origins = new AsyncLocalStorage<RequestOrigin>();

/** Runs a function within the context of a request. */
export function inRequestOf<Result>(origin: RequestOrigin, run: () => Result): Result {
  return origins.run(origin, run);
}

/** Returns the client address of the current request; an empty string outside of a request. */
export function requestAddress(): string {
  return origins.getStore()?.address ?? '';
}

/** Returns the network of that address, which limits count by. */
export function requestNetwork(): string {
  return networkOf(requestAddress());
}
