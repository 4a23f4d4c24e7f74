import { Failure } from '#contracts';
import type { Log } from '#runtime';
import { createLocalJWKSet, errors, type JSONWebKeySet, type JWTVerifyGetKey } from 'jose';
import type { IssuerKeys } from './issuer-keys.js';

/** Limits of the time between two fetches, in milliseconds. */
export interface FetchIntervals {
  /** Age at which keys are fetched again. Requests use the old keys until the fetch ends. */
  readonly maxAge: number;
  /** Minimum time between two fetches, so that tokens with unknown key ids cannot cause many. */
  readonly coolDown: number;
}

const defaultIntervals: FetchIntervals = { maxAge: 600_000, coolDown: 10_000 };
/** Time limit of one request to the provider, in milliseconds. */
const fetchLimitMs = 5_000;

/**
 * The keys of an issuer, fetched from its provider. Invariants:
 * - Fetched keys stay in use until a fetch returns different keys, even if the provider is
 *   unavailable for days.
 * - There is one fetch at a time, and at most one per cool-down.
 */
export class RemoteKeys implements IssuerKeys {
  private findKey: (JWTVerifyGetKey & { jwks(): JSONWebKeySet }) | undefined;
  private versionNumber = 0;
  private fetchedAt = -Infinity;
  private startedAt = -Infinity;
  private fetching: Promise<void> | undefined;

  /** @param keySetUrl returns the URL of the key set, after a discovery request if necessary. */
  constructor(
    private readonly issuer: string,
    private readonly keySetUrl: () => Promise<string>,
    private readonly log: Log,
    private readonly intervals: FetchIntervals = defaultIntervals,
  ) {
    // Fetches the keys at the start, so that the first request with a token does not wait.
    void this.refresh();
  }

  version(): number {
    if (performance.now() > this.fetchedAt + this.intervals.maxAge) void this.refresh();
    return this.versionNumber;
  }

  readonly find: JWTVerifyGetKey = async (header, token) => {
    this.version();
    if (!this.findKey) await this.refresh();
    if (!this.findKey) throw new Failure('unavailable');
    try {
      return await this.findKey(header, token);
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
      const versionBefore = this.versionNumber;
      await this.refresh();
      if (this.versionNumber === versionBefore) throw error;
      return this.findKey(header, token);
    }
  };

  /** Fetches the keys, at most once per cool-down. Logs failures and never rejects. */
  private refresh(): Promise<void> {
    if (this.fetching) return this.fetching;
    if (performance.now() < this.startedAt + this.intervals.coolDown) return Promise.resolve();
    this.startedAt = performance.now();
    this.fetching = this.fetch()
      .catch((error: unknown) => {
        const { issuer } = this;
        this.log.error(
          { err: error, issuer },
          this.findKey
            ? 'issuer keys not fetched, retrying: the last fetched keys stay in use'
            : 'issuer keys not fetched, retrying: requests with tokens of this issuer get 503',
        );
      })
      .finally(() => (this.fetching = undefined));
    return this.fetching;
  }

  /** Fetches the keys, and counts a new version if they differ. @throws Error. */
  private async fetch(): Promise<void> {
    const keySet = (await fetchJson(await this.keySetUrl())) as JSONWebKeySet;
    const findKey = createLocalJWKSet(keySet);
    this.fetchedAt = performance.now();
    if (JSON.stringify(this.findKey?.jwks()) === JSON.stringify(keySet)) return;
    this.findKey = findKey;
    this.versionNumber++;
  }
}

/**
 * Returns the URL of an issuer's key set (OpenID Connect Discovery 1.0, sections 4 and 4.3).
 *
 * @throws Error if the document is unavailable, or names another issuer.
 */
export async function discoverKeySet(issuer: string): Promise<string> {
  const document = await fetchJson(`${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`);
  const { issuer: documentIssuer, jwks_uri: url } = document as {
    issuer?: unknown;
    jwks_uri?: unknown;
  };
  if (documentIssuer !== issuer)
    throw new Error(`the discovery document is of another issuer: ${String(documentIssuer)}`);
  if (typeof url !== 'string' || !URL.canParse(url))
    throw new Error('the discovery document has no valid jwks_uri');
  const { protocol } = new URL(url);
  // Rejects http, with which an attacker on the network could replace the keys.
  if (protocol !== 'https:' && !(protocol === 'http:' && issuer.startsWith('http:')))
    throw new Error(
      `the jwks_uri of the discovery document must start with https:, not ${protocol}`,
    );
  return url;
}

/** Returns a JSON document. @throws Error for a redirect, another status than 2xx, a timeout. */
async function fetchJson(url: string): Promise<unknown> {
  const response = await fetch(url, {
    headers: { accept: 'application/json' },
    redirect: 'error',
    signal: AbortSignal.timeout(fetchLimitMs),
  });
  if (!response.ok) throw new Error(`${url} answers ${response.status}`);
  return response.json();
}
