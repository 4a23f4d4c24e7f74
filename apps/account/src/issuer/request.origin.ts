import { AsyncLocalStorage } from 'node:async_hooks';
import { networkOf } from '#identity';

/** IP address of the client, which oidc-provider does not pass to its adapter. */
const addresses = new AsyncLocalStorage<string>();

/** Runs a function in which {@link requestAddress} returns the address of the client. */
export function runWithAddress<Result>(address: string, run: () => Result): Result {
  return addresses.run(address, run);
}

/** Returns the client's IP address in a request to the issuer, otherwise an empty string. */
export function requestAddress(): string {
  return addresses.getStore() ?? '';
}

/** Returns the network of {@link requestAddress}, for rate limits. */
export function requestNetwork(): string {
  return networkOf(requestAddress());
}
