import { FetchError, type FetchedResponse, type FetchFault, type Fetcher } from '#fetch';
import { z } from 'zod';
import { ResponseError, JsonArrayReader, parseResponse } from './json-array-reader.js';
import type { SkippedEntries } from './skipped-entries.js';

/**
 * Maximum requests of one import, and maximum bytes of all responses together. An import with more
 * fails as `too_large`.
 */
const [maxRequests, maxBytes] = [1_000, 2 ** 27];
/**
 * Maximum characters and JSON values of all responses except actions. These responses are in
 * memory as a whole, where a value of two characters takes up to a hundred bytes.
 */
const [maxListCharacters, maxListValues] = [2 ** 23, 250_000];

/** Limits of the fetcher of an import. A server can need minutes to respond with all actions. */
export const sourceLimits = {
  headMs: 120_000,
  silenceMs: 120_000,
  totalMs: 3_600_000,
  sentBytes: maxBytes,
  decodedBytes: maxBytes,
};

/** Maps the fault of a fetch to the fault that an import reports. */
const faultsByFetchFault = {
  refused: 'refused',
  unresolved: 'unreachable',
  unreachable: 'unreachable',
  broken: 'unreachable',
  timeout: 'timeout',
  redirects: 'redirected',
  too_large: 'too_large',
} as const satisfies Record<FetchFault, string>;

/**
 * Thrown if the other server does not respond or rejects a request. `fault` is the fault of the
 * fetch (`unreachable` also for an unknown host name and a broken response), or:
 * - `credentials`: the server rejects the name or the password;
 * - `unsupported`: the server has no gpodder API or gpoddersync, or violates the protocol.
 *
 * The message contains no other part of a URL than the origin.
 */
export class ServerError extends Error {
  /** @param status HTTP status; absent without a response. */
  constructor(
    message: string,
    readonly fault: (typeof faultsByFetchFault)[FetchFault] | 'credentials' | 'unsupported',
    readonly status?: number,
  ) {
    super(message);
  }
}

/** A list of any entries. Some servers send null for an empty list. */
const listSchema = z
  .array(z.unknown())
  .nullable()
  .transform((list) => list ?? []);
const feedsSchema = z.object({ add: listSchema });
const deviceSchema = z.object({ id: z.string() });
const titledFeedSchema = z.object({ url: z.string() });

/**
 * Actions of a response as JSON texts. The return value is the `since` of the next request, in
 * seconds; 0 if the response has no timestamp.
 */
export type Actions = AsyncGenerator<string, number>;

/** The server from which an account is imported. All methods throw ServerError. */
export interface SourceServer {
  /** Name of the server's protocol, for messages. */
  readonly protocol: string;
  /** Returns the subscribed feeds: URLs, objects with a `url`, or invalid entries. */
  readFeeds(): Promise<unknown[]>;
  /**
   * Requests the actions after `since` (seconds), and passes them to `read` while the response
   * arrives. Returns the result of `read`.
   */
  readActions<T>(since: number, read: (actions: Actions) => Promise<T>): Promise<T>;
  /** Returns the favourites: objects with `url` and `podcast_url`, or invalid entries. */
  readFavorites(): Promise<unknown[]>;
}

/** Options of {@link openSource}. */
export interface SourceOptions {
  /** Fetcher with {@link sourceLimits}. */
  readonly fetcher: Fetcher;
  readonly stopped: AbortSignal;
  readonly skipped: SkippedEntries;
}

/**
 * Detects the protocol of a server, and returns an object that reads from the server.
 *
 * @param from base URL with a trailing `/`.
 * @throws ServerError for an unsupported protocol, a wrong password or an unreachable server.
 */
export async function openSource(
  from: URL,
  { login, password }: { login: string; password: string },
  { fetcher, stopped, skipped }: SourceOptions,
): Promise<SourceServer> {
  const authorization = `Basic ${Buffer.from(`${login}:${password}`).toString('base64')}`;
  const client = new SourceClient(from, authorization, fetcher, stopped);
  const user = encodeURIComponent(login);
  const devices = await client.getOptional(`api/2/devices/${user}.json`, listSchema);
  if (devices) return openGpodderServer(client, user, devices, skipped);
  const nextcloudPath = 'index.php/apps/gpoddersync';
  const nextcloudFeeds = await client.getOptional(
    `${nextcloudPath}/subscriptions?since=0`,
    feedsSchema,
  );
  if (!nextcloudFeeds)
    throw new ServerError(
      `no gpodder API or gpoddersync at ${from.href}: check the address`,
      'unsupported',
    );
  return {
    protocol: 'gpoddersync',
    readFeeds: async () => nextcloudFeeds.add,
    readActions: (since, read) =>
      client.readActions(`${nextcloudPath}/episode_action?since=${since}`, read),
    readFavorites: async () => [],
  };
}

/** Returns the object that reads from a server with the gpodder API. */
function openGpodderServer(
  client: SourceClient,
  user: string,
  devices: unknown[],
  skipped: SkippedEntries,
): SourceServer {
  /** Returns the feeds of one device. On gpodder.net, each device has its own list. */
  const readDeviceFeeds = async (device: unknown): Promise<unknown[]> => {
    const { data } = deviceSchema.safeParse(device);
    const path = data && `api/2/subscriptions/${user}/${encodeURIComponent(data.id)}.json?since=0`;
    const deviceFeeds = path && (await client.getOptional(path, feedsSchema));
    if (deviceFeeds) return deviceFeeds.add;
    skipped.add('device', data?.id ?? device, data ? 'no_list' : 'no_id');
    return [];
  };
  /** Returns the entries of a list; none if the list is missing or the response is not a list. */
  const readList = async (path: string): Promise<unknown[]> => {
    const response = await client.getOptional(path, z.unknown());
    const { data } = listSchema.safeParse(response ?? null);
    if (!data) skipped.add('answer', response, 'not_a_list');
    return data ?? [];
  };
  return {
    protocol: 'the gpodder API',
    readFeeds: async () => {
      const titledFeeds = await readList(`subscriptions/${user}.json`);
      if (devices.length === 0) return titledFeeds;
      const feeds: unknown[] = [];
      for (const device of devices)
        for (const feed of await readDeviceFeeds(device)) feeds.push(feed);
      // Adds the feeds of the user's list too, because only that list has titles.
      const urls = new Set(feeds);
      return [
        ...feeds,
        ...titledFeeds.filter((feed) => urls.has(titledFeedSchema.safeParse(feed).data?.url)),
      ];
    },
    readActions: (since, read) =>
      client.readActions(`api/2/episodes/${user}.json?since=${since}`, read),
    readFavorites: () => readList(`api/2/favorites/${user}.json`),
  };
}

/** Sends requests to the other server, and to no other origin. */
class SourceClient {
  private requestCount = 0;
  private receivedBytes = 0;
  private listCharacters = 0;
  private listValues = 0;

  constructor(
    private readonly base: URL,
    private readonly authorization: string,
    private readonly fetcher: Fetcher,
    private readonly stopped: AbortSignal,
  ) {}

  /**
   * Requests a JSON document.
   *
   * @returns undefined for an unsupported path, or a response that is not JSON of the schema.
   * @throws ServerError for other failures.
   */
  async getOptional<Answer extends z.ZodType>(
    path: string,
    schema: Answer,
  ): Promise<z.output<Answer> | undefined> {
    try {
      return await this.get(path, async (chunks) => {
        let text = '';
        for await (const chunk of chunks) {
          text += chunk;
          this.listCharacters += chunk.length;
          this.listValues += chunk.match(/[,[{]/g)?.length ?? 0;
          if (this.listCharacters > maxListCharacters || this.listValues > maxListValues)
            throw this.createTooLargeError('subscriptions, devices and favourites');
        }
        return schema.safeParse(parseResponse(text)).data;
      });
    } catch (error) {
      const isUnsupported =
        error instanceof ResponseError ||
        (error instanceof ServerError && isUnsupportedPath(error.status));
      if (isUnsupported) return undefined;
      throw error;
    }
  }

  /** Requests actions. @throws ServerError, also if the response has none; errors of `read`. */
  readActions<T>(path: string, read: (actions: Actions) => Promise<T>): Promise<T> {
    return this.get(path, (chunks) => read(parseActions(chunks))).catch((error: unknown) => {
      throw error instanceof ResponseError ? new ServerError(error.message, 'unsupported') : error;
    });
  }

  private async get<T>(
    path: string,
    read: (chunks: AsyncGenerator<string>) => Promise<T>,
  ): Promise<T> {
    this.requestCount += 1;
    if (this.requestCount > maxRequests)
      throw new ServerError(`${this.base.host}: more than ${maxRequests} requests`, 'too_large');
    const { authorization } = this;
    const request = {
      url: new URL(path, this.base).href,
      headers: { accept: 'application/json' },
      authorization,
      // Follows no redirect to another origin, because that origin must not get the password.
      isSameOrigin: true,
    };
    try {
      return await this.fetcher.fetch(
        request,
        (response) => {
          if (response.status !== 200) throw toServerError(this.base.host, response.status);
          return read(this.decodeBody(response));
        },
        this.stopped,
      );
    } catch (error) {
      if (!(error instanceof FetchError)) throw error;
      const fault = faultsByFetchFault[error.fault];
      const prefix = fault === 'unreachable' ? 'connection failed: ' : '';
      throw new ServerError(prefix + error.message, fault);
    }
  }

  private async *decodeBody({ body }: FetchedResponse): AsyncGenerator<string> {
    const decoder = new TextDecoder();
    for await (const chunk of body) {
      this.receivedBytes += chunk.length;
      if (this.receivedBytes > maxBytes) throw this.createTooLargeError('all responses');
      yield decoder.decode(chunk, { stream: true });
    }
  }

  private createTooLargeError(what: string): ServerError {
    return new ServerError(`${this.base.host}: ${what} together are too large`, 'too_large');
  }
}

async function* parseActions(chunks: AsyncGenerator<string>): Actions {
  const { timestamp } = yield* new JsonArrayReader('actions').read(chunks);
  const since =
    typeof timestamp === 'string' || typeof timestamp === 'number'
      ? Math.floor(Number(timestamp))
      : 0;
  return Number.isSafeInteger(since) ? since : 0;
}

function toServerError(host: string, status: number): ServerError {
  return status === 401 || status === 403
    ? new ServerError(`${host} rejects the name or the password (${status})`, 'credentials', status)
    : new ServerError(`${host} answers with status ${status}`, 'unsupported', status);
}

/** Returns true for a status with which servers answer an unsupported path. */
function isUnsupportedPath(status: number | undefined): boolean {
  return status === 400 || status === 404 || status === 405 || status === 501;
}
