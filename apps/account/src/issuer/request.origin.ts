import { AsyncLocalStorage } from 'node:async_hooks';
import { networkOf } from '#identity';

/** Client of the current request, which oidc-provider does not pass to its adapter. */
export interface RequestClient {
  /** IP address. */
  readonly address: string;
}

const clients = new AsyncLocalStorage<RequestClient>();

/** Runs a function in which {@link requestAddress} returns the address of the client. */
export function runWithRequestClient<Result>(client: RequestClient, run: () => Result): Result {
  return clients.run(client, run);
}

/** Returns the client's IP address in a request to the issuer, otherwise an empty string. */
export function requestAddress(): string {
  return clients.getStore()?.address ?? '';
}

/** Returns the network of {@link requestAddress}, for rate limits. */
export function requestNetwork(): string {
  return networkOf(requestAddress());
}
