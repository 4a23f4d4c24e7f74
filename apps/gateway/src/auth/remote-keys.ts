import { Failure } from '#contracts';
import type { Log } from '#runtime';
import { createLocalJWKSet, errors, type JSONWebKeySet, type JWTVerifyGetKey } from 'jose';
import type { IssuerKeys } from './issuer-keys.js';

/** Limits of the time between two fetches, in milliseconds. */
export interface FetchIntervals {
  /** Age at which keys are fetched again. Requests use the old keys until the fetch ends. */
  readonly maxAge: number;
  /** Minimum time between two fetches, because anybody can send tokens with unknown key ids. */
  readonly coolDown: number;
}

const defaultIntervals: FetchIntervals = { maxAge: 600_000, coolDown: 10_000 };
/** Time limit of one request to the issuer, in milliseconds. */
const fetchLimitMs = 5_000;

/**
 * The keys of an issuer, fetched over HTTP. Invariants:
 * - Fetched keys stay in use until a fetch returns different keys, even if the issuer is
 *   unavailable for days.
 * - There is one fetch at a time, and at most one per cool-down.
 */
export class RemoteKeys implements IssuerKeys {
  private findKey: (JWTVerifyGetKey & { jwks(): JSONWebKeySet }) | undefined;
  private versionNumber = 0;
  /** Times of the last successful fetch, and of the start of any fetch (`performance.now()`). */
  private lastFetchedAt = -Infinity;
  private lastStartedAt = -Infinity;
  private runningFetch: Promise<void> | undefined;

  /** @param keySetUrl returns the URL of the key set, after a discovery request if necessary. */
  constructor(
    private readonly issuer: string,
    private readonly keySetUrl: () => Promise<string>,
    private readonly log: Log,
    private readonly intervals: FetchIntervals = defaultIntervals,
  ) {
    // Fetches the keys at the start, so that the first request with a token does not wait.
    void this.refreshKeys();
  }

  version(): number {
    if (performance.now() > this.lastFetchedAt + this.intervals.maxAge) void this.refreshKeys();
    return this.versionNumber;
  }

  readonly find: JWTVerifyGetKey = async (header, token) => {
    this.version();
    if (!this.findKey) await this.refreshKeys();
    if (!this.findKey) throw new Failure('unavailable');
    try {
      return await this.findKey(header, token);
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
      const versionBefore = this.versionNumber;
      await this.refreshKeys();
      if (this.versionNumber === versionBefore) throw error;
      return this.findKey(header, token);
    }
  };

  /** Fetches the keys, at most once per cool-down. Logs failures and never rejects. */
  private refreshKeys(): Promise<void> {
    if (this.runningFetch) return this.runningFetch;
    if (performance.now() < this.lastStartedAt + this.intervals.coolDown) return Promise.resolve();
    this.lastStartedAt = performance.now();
    this.runningFetch = this.fetchKeys()
      .catch((error: unknown) => {
        const { issuer } = this;
        this.log.error(
          { err: error, issuer },
          this.findKey
            ? 'issuer keys not fetched, retrying: the last fetched keys stay in use'
            : 'issuer keys not fetched, retrying: requests with tokens of this issuer get 503',
        );
      })
      .finally(() => (this.runningFetch = undefined));
    return this.runningFetch;
  }

  /** Fetches the keys. Increases the version if they changed. @throws Error if the fetch fails. */
  private async fetchKeys(): Promise<void> {
    const keySet = (await fetchJson(await this.keySetUrl())) as JSONWebKeySet;
    const findKey = createLocalJWKSet(keySet);
    this.lastFetchedAt = performance.now();
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
  // Rejects http, because an attacker on the network could replace the keys. Allows http only if
  // the issuer itself has an http URL.
  if (protocol !== 'https:' && !(protocol === 'http:' && issuer.startsWith('http:')))
    throw new Error(
      `the jwks_uri of the discovery document must start with https:, not ${protocol}`,
    );
  return url;
}

/** Fetches a JSON document. @throws Error for a redirect, another status than 2xx, a timeout. */
async function fetchJson(url: string): Promise<unknown> {
  const response = await fetch(url, {
    headers: { accept: 'application/json' },
    redirect: 'error',
    signal: AbortSignal.timeout(fetchLimitMs),
  });
  if (!response.ok) throw new Error(`${url} answers ${response.status}`);
  return response.json();
}
