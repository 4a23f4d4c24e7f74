import { isIP, type LookupFunction } from 'node:net';
import { pipeline, type Readable } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { Agent, buildConnector, type Dispatcher } from 'undici';
import { parseUrl } from '#contracts';
import { createLimitedSignal } from '#runtime';
import type { AddressGuard } from './address-guard.js';
import { FetchError, type FetchFault, toFetchError } from './fetch-error.js';
import { HostResolver } from './host-resolver.js';

const maxUrlBytes = 4_096;
const maxHeaderBytes = 32_768;
/** Pause before the next address of a host is tried (RFC 8305), in milliseconds. */
const nextAddressMs = 1_000;

const redirectStatuses: readonly number[] = [301, 302, 303, 307, 308];

/** Decompressors by `Content-Encoding`; `x-gzip` is an old name (RFC 9110, 8.4.1.3). */
const decompressors: Readonly<Record<string, () => NodeJS.ReadWriteStream & Readable>> = {
  gzip: createGunzip,
  'x-gzip': createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
};

/**
 * Limits of one fetch with its redirects: times in milliseconds, sizes in bytes. A fetch that
 * exceeds a limit fails with FetchError.
 */
const defaultLimits = {
  connectMs: 10_000,
  /** The time until the headers of a response have arrived. */
  headMs: 10_000,
  /** The longest pause between two chunks of a body. */
  silenceMs: 10_000,
  totalMs: 45_000,
  /** The size of the body as sent, before decompression. */
  sentBytes: 12 * 2 ** 20,
  /** The size of the body after decompression. */
  decodedBytes: 32 * 2 ** 20,
  redirects: 5,
};

/** Options of a {@link Fetcher}. */
export interface FetcherOptions {
  readonly userAgent: string;
  readonly guard: AddressGuard;
  readonly limits?: Partial<typeof defaultLimits>;
  /** Addresses of DNS servers, such as `127.0.0.1:53`. Default: those of the system. */
  readonly dnsServers?: readonly string[];
}

/** A GET request. */
export interface FetchRequest {
  readonly url: string;
  /** Sent to each URL of a chain of redirects, such as `accept` and `if-none-match`. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The header `Authorization`, sent only to the origin of `url`. */
  readonly authorization?: string;
  /** True if a redirect to another origin fails. */
  readonly isSameOrigin?: boolean;
}

/** One redirect of a chain. */
export interface Redirect {
  readonly status: number;
  /** The URL that the redirect names. */
  readonly url: string;
}

/** The last response of a chain of redirects. */
export interface FetchedResponse {
  readonly status: number;
  /** The URL that sent the response. */
  readonly url: string;
  readonly redirects: readonly Redirect[];
  /** Returns the first value of a header, or `undefined`. @param name in lower case. */
  header(name: string): string | undefined;
  /** The decompressed body; readable once. Throws FetchError if it breaks off or is too large. */
  readonly body: AsyncIterable<Uint8Array>;
}

/**
 * Sends GET requests to servers that are not trusted.
 * - A socket connects only to an address that the guard has allowed. The guard checks the addresses
 *   that the socket uses, so a second DNS answer (rebinding) has no effect.
 * - Each redirect is a new request with the same checks.
 * - Time, sent bytes and decompressed bytes are limited. A decompressor is never ahead of its
 *   reader by more than its buffer.
 * - Each fetch has its own connections. None is open after `fetch` returns.
 */
export class Fetcher {
  private readonly limits: typeof defaultLimits;
  private readonly resolver: HostResolver;

  constructor(private readonly options: FetcherOptions) {
    this.limits = { ...defaultLimits, ...options.limits };
    this.resolver = new HostResolver(options.guard, options.dnsServers);
  }

  /**
   * Sends the request, follows redirects and returns the result of `read`.
   *
   * @param stopped aborts the fetch, which then throws the signal's reason.
   * @throws FetchError, and errors of `read`.
   */
  async fetch<T>(
    request: FetchRequest,
    read: (response: FetchedResponse) => Promise<T>,
    stopped?: AbortSignal,
  ): Promise<T> {
    stopped?.throwIfAborted();
    const { limits } = this;
    const { signal, release } = createLimitedSignal(limits.totalMs, stopped ? [stopped] : []);
    const agent = new Agent({
      connect: this.connect,
      // Without pipelining, undici keeps no connection for a next request.
      pipelining: 0,
      headersTimeout: limits.headMs,
      bodyTimeout: limits.silenceMs,
      maxHeaderSize: maxHeaderBytes,
      maxResponseSize: limits.sentBytes,
    });
    try {
      const result = await read(await this.followRedirects(request, agent, signal));
      // `read` can return a partly read body. After an abort, such a result is not returned.
      stopped?.throwIfAborted();
      return result;
    } catch (error) {
      stopped?.throwIfAborted();
      throw error;
    } finally {
      release();
      agent.destroy().catch(() => undefined);
    }
  }

  private async followRedirects(
    request: FetchRequest,
    agent: Agent,
    signal: AbortSignal,
  ): Promise<FetchedResponse> {
    const redirects: Redirect[] = [];
    let url = this.parseAllowedUrl(request.url);
    const { origin } = url;
    const visitedUrls = new Set([url.href]);
    for (;;) {
      const credentials = url.origin === origin ? request.authorization : undefined;
      const response = await this.sendRequest(url, request, credentials, agent, signal);
      const location = readHeader(response, 'location');
      if (!redirectStatuses.includes(response.statusCode) || location === undefined)
        return this.toFetchedResponse(url, response, redirects);
      response.body.destroy();
      const nextUrl = this.parseAllowedUrl(location, url);
      if (request.isSameOrigin && nextUrl.origin !== origin)
        throw new FetchError(
          'redirects',
          `${url.host} redirects to ${nextUrl.origin}: use that address`,
        );
      redirects.push({ status: response.statusCode, url: nextUrl.href });
      if (redirects.length > this.limits.redirects || visitedUrls.has(nextUrl.href))
        throw new FetchError('redirects', `${url.host}: too many redirects or a loop`);
      visitedUrls.add(nextUrl.href);
      url = nextUrl;
    }
  }

  /** Returns a URL that the guard allows. @throws FetchError `refused`. */
  private parseAllowedUrl(urlText: string, base?: URL): URL {
    const createRefusal = (host: string, reason: string) =>
      new FetchError('refused', `${host}: ${reason}`);
    const host = base?.host ?? 'URL';
    if (Buffer.byteLength(urlText) > maxUrlBytes)
      throw createRefusal(host, `the URL is longer than ${maxUrlBytes} bytes`);
    const url = parseUrl(urlText, base);
    if (!url) throw createRefusal(host, 'not a URL');
    if (url.protocol !== 'http:' && url.protocol !== 'https:')
      throw createRefusal(host, `unsupported scheme ${url.protocol}`);
    const isAddress = url.hostname.startsWith('[') || isIP(url.hostname) > 0;
    if (!isAddress && !this.options.guard.allowsName(url.hostname, readPort(url)))
      throw createRefusal(url.host, 'the name is of a local network and not in FEEDS_ALLOW');
    // A redirect must not choose credentials; only `authorization` is sent.
    url.username = '';
    url.password = '';
    url.hash = '';
    return url;
  }

  private async sendRequest(
    url: URL,
    request: FetchRequest,
    authorization: string | undefined,
    agent: Agent,
    signal: AbortSignal,
  ): Promise<Dispatcher.ResponseData> {
    const { origin, pathname, search } = url;
    const headers = {
      ...request.headers,
      'user-agent': this.options.userAgent,
      'accept-encoding': 'gzip, br',
      ...(authorization !== undefined && { authorization }),
    };
    try {
      const path = pathname + search;
      const response = await agent.request({ origin, path, method: 'GET', headers, signal });
      // Without a listener, an error of an unread body would end the process.
      response.body.on('error', () => undefined);
      return response;
    } catch (error) {
      throw toFetchError(error, url.host, 'unreachable');
    }
  }

  private toFetchedResponse(
    url: URL,
    response: Dispatcher.ResponseData,
    redirects: readonly Redirect[],
  ): FetchedResponse {
    return {
      status: response.statusCode,
      url: url.href,
      redirects,
      header: (name) => readHeader(response, name),
      body: this.decompressBody(url.host, response),
    };
  }

  private async *decompressBody(
    host: string,
    response: Dispatcher.ResponseData,
  ): AsyncGenerator<Uint8Array> {
    const encoding = (readHeader(response, 'content-encoding') ?? 'identity').trim().toLowerCase();
    const decompressor = decompressors[encoding];
    const createError = (fault: FetchFault, reason: string) =>
      new FetchError(fault, `${host}: ${reason}`);
    if (!decompressor && encoding !== 'identity' && encoding !== '')
      throw createError('broken', 'unsupported Content-Encoding');
    const decodedStream = decompressor
      ? pipeline(response.body, decompressor(), () => undefined)
      : response.body;
    let decodedBytes = 0;
    try {
      for await (const chunk of decodedStream as AsyncIterable<Uint8Array>) {
        decodedBytes += chunk.length;
        if (decodedBytes > this.limits.decodedBytes)
          throw createError(
            'too_large',
            `the body is larger than ${this.limits.decodedBytes} bytes`,
          );
        yield chunk;
      }
    } catch (error) {
      throw toFetchError(error, host, 'broken');
    }
  }

  /**
   * Connects to a host's allowed addresses. An address in the URL is checked here, because Node
   * calls `lookup` only for names. `lookup` checks the addresses of a name.
   */
  private readonly connect: buildConnector.connector = (options, callback) => {
    const { hostname, protocol } = options;
    const port = Number(options.port) || (protocol === 'https:' ? 443 : 80);
    if (isIP(hostname) > 0 && !this.options.guard.allowsAddress(hostname, port)) {
      callback(new FetchError('refused', `${hostname}: address or port is not public`), null);
      return;
    }
    const lookUp: LookupFunction = (name, _, done) => {
      this.resolver.addressesOf(name, port).then(
        (addresses) => done(null, addresses),
        (error: unknown) => done(toFetchError(error, name, 'unresolved'), []),
      );
    };
    buildConnector({
      timeout: this.limits.connectMs,
      // Node asks `lookup` for all addresses of the host, and tries them one after another.
      autoSelectFamily: true,
      autoSelectFamilyAttemptTimeout: nextAddressMs,
      lookup: lookUp,
    })(options, callback);
  };
}

function readPort(url: URL): number {
  return Number(url.port) || (url.protocol === 'https:' ? 443 : 80);
}

function readHeader({ headers }: Dispatcher.ResponseData, name: string): string | undefined {
  const value = headers[name];
  return Array.isArray(value) ? value[0] : value;
}
