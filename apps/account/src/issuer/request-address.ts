import { AsyncLocalStorage } from 'node:async_hooks';
import { networkOf } from '#identity';

/** IP address of the client, for adapters: oidc-provider passes no request to an adapter. */
const clientAddress = new AsyncLocalStorage<string>();

/** Runs a function during which {@link requestAddress} returns `address`. */
export function runWithAddress<Result>(address: string, run: () => Result): Result {
  return clientAddress.run(address, run);
}

/** Returns the client's IP address; an empty string outside a request to the issuer. */
export function requestAddress(): string {
  return clientAddress.getStore() ?? '';
}

/** Returns the network of {@link requestAddress}, for rate limits. */
export function requestNetwork(): string {
  return networkOf(requestAddress());
}
