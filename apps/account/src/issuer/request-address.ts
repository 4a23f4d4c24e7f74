import { AsyncLocalStorage } from 'node:async_hooks';
import { networkOf } from '#identity';

/** Carries the client's IP address to the adapters, to which oidc-provider does not pass it. */
const clientAddress = new AsyncLocalStorage<string>();

/** Runs a function in which {@link requestAddress} returns the address of the client. */
export function runWithAddress<Result>(address: string, run: () => Result): Result {
  return clientAddress.run(address, run);
}

/** Returns the client's IP address in a request to the issuer, otherwise an empty string. */
export function requestAddress(): string {
  return clientAddress.getStore() ?? '';
}

/** Returns the network of {@link requestAddress}, for rate limits. */
export function requestNetwork(): string {
  return networkOf(requestAddress());
}
