export { AddressGuard } from './address-guard.js';
export { FetchError, type FetchFault } from './fetch-error.js';
export {
  type FetchedResponse,
  Fetcher,
  type FetcherOptions,
  type FetchRequest,
  type Redirect,
} from './fetcher.js';
