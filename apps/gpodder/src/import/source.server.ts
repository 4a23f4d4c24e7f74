import { z } from 'zod';
import { AnswerError, JsonElements, parseAnswer } from './json.elements.js';
import type { SkippedEntries } from './skipped.entries.js';

/** Maximum time between two chunks of an answer, in milliseconds. */
const idleTimeoutMs = 120_000;
/** Maximum redirects, and maximum characters of an answer that is not a list of actions. */
const [maxRedirects, maxCharacters] = [5, 33_554_432];

/** The other server did not answer, or rejected a request. */
class ServerError extends Error {
  /** @param status absent without an answer. */
  constructor(
    message: string,
    readonly status?: number,
  ) {
    super(message);
  }
}

/** A list of unchecked entries. Some servers send null for an empty list. */
const listSchema = z
  .array(z.unknown())
  .nullable()
  .transform((list) => list ?? []);
const feedsSchema = z.object({ add: listSchema });
const deviceSchema = z.object({ id: z.string() });
const titledFeedSchema = z.object({ url: z.string() });

/** Generates the JSON texts of actions. Returns the next request's `since`, 0 if it is missing. */
type Actions = AsyncGenerator<string, number>;

/** The server that an account is imported from. */
export interface SourceServer {
  /** Name of its protocol in messages. */
  readonly protocol: string;
  /** Returns the subscribed feeds: URLs, objects with a `url`, or invalid entries. */
  readFeeds(): Promise<unknown[]>;
  /** @throws ServerError; AnswerError */
  readActions(since: number): Actions;
  /** Returns the favourites: objects with `url` and `podcast_url`, or invalid entries. */
  readFavorites(): Promise<unknown[]>;
}

/** Detects a server's protocol. @throws ServerError for an unsupported one or a wrong password. */
export async function openSource(
  from: URL,
  { login, password }: { login: string; password: string },
  stopped: AbortSignal,
  skipped: SkippedEntries,
): Promise<SourceServer> {
  const http = new SourceClient(
    from,
    `Basic ${Buffer.from(`${login}:${password}`).toString('base64')}`,
    stopped,
  );
  const user = encodeURIComponent(login);
  const devices = await http.getOptional(`api/2/devices/${user}.json`, listSchema);
  if (devices) return gpodderServer(http, user, devices, skipped);
  const base = 'index.php/apps/gpoddersync';
  const feeds = await http.getOptional(`${base}/subscriptions?since=0`, feedsSchema);
  if (!feeds) throw new ServerError(`no gpodder API or gpoddersync at ${from.href}: check --from`);
  return {
    protocol: 'gpoddersync',
    readFeeds: async () => feeds.add,
    readActions: (since) => http.readActions(`${base}/episode_action?since=${since}`),
    readFavorites: async () => [],
  };
}

function gpodderServer(
  http: SourceClient,
  user: string,
  devices: unknown[],
  skipped: SkippedEntries,
): SourceServer {
  /** Returns the feeds of a device, because on gpodder.net each device has its own list. */
  const readFeedsOf = async (device: unknown): Promise<unknown[]> => {
    const { data } = deviceSchema.safeParse(device);
    const path = data && `api/2/subscriptions/${user}/${encodeURIComponent(data.id)}.json?since=0`;
    const list = path && (await http.getOptional(path, feedsSchema));
    if (list) return list.add;
    skipped.add('device', data?.id ?? device, data ? 'no list of subscriptions' : 'no id');
    return [];
  };
  /** Returns the entries of a list; none if it is missing. Skips an answer that is not a list. */
  const readList = async (path: string): Promise<unknown[]> => {
    const answer = await http.getOptional(path, z.unknown());
    const { data } = listSchema.safeParse(answer ?? null);
    if (!data) skipped.add('answer', answer, `${path} is not a list`);
    return data ?? [];
  };
  return {
    protocol: 'the gpodder API',
    readFeeds: async () => {
      const titled = await readList(`subscriptions/${user}.json`);
      if (devices.length === 0) return titled;
      const feeds: unknown[] = [];
      for (const device of devices) feeds.push(...(await readFeedsOf(device)));
      // The lists of devices contain only URLs, the list of the user also titles.
      const urls = new Set(feeds);
      return [
        ...feeds,
        ...titled.filter((feed) => urls.has(titledFeedSchema.safeParse(feed).data?.url)),
      ];
    },
    readActions: (since) => http.readActions(`api/2/episodes/${user}.json?since=${since}`),
    readFavorites: () => readList(`api/2/favorites/${user}.json`),
  };
}

/** Sends requests to the other server, and only to its origin. */
class SourceClient {
  constructor(
    private readonly base: URL,
    private readonly authorization: string,
    private readonly stopped: AbortSignal,
  ) {}

  /**
   * Reads JSON.
   *
   * @returns undefined for a missing path, or an answer that is not JSON or not of the schema.
   * @throws ServerError
   */
  async getOptional<Answer extends z.ZodType>(
    path: string,
    schema: Answer,
  ): Promise<z.output<Answer> | undefined> {
    try {
      let text = '';
      for await (const chunk of this.chunks(path)) {
        text += chunk;
        if (text.length > maxCharacters)
          throw new ServerError(
            `${this.base.host}: the response of ${path.split('?', 1)[0]} exceeds ` +
              `${maxCharacters} characters`,
          );
      }
      return schema.safeParse(parseAnswer(text)).data;
    } catch (error) {
      const isUnsupported =
        error instanceof AnswerError || (error instanceof ServerError && isMissing(error.status));
      if (isUnsupported) return undefined;
      throw error;
    }
  }

  /** Reads actions. @throws ServerError; AnswerError for an answer without actions. */
  async *readActions(path: string): Actions {
    const { timestamp } = yield* new JsonElements('actions').read(this.chunks(path));
    const since =
      typeof timestamp === 'string' || typeof timestamp === 'number'
        ? Math.floor(Number(timestamp))
        : 0;
    return Number.isSafeInteger(since) ? since : 0;
  }

  private async *chunks(path: string): AsyncGenerator<string> {
    const timeout = new AbortController();
    const timer = setTimeout(() => timeout.abort(), idleTimeoutMs);
    try {
      const signal = AbortSignal.any([timeout.signal, this.stopped]);
      const answer = await this.fetch(new URL(path, this.base), signal);
      const text = new TextDecoder();
      for await (const chunk of answer.body ?? []) {
        timer.refresh();
        yield text.decode(chunk as Uint8Array, { stream: true });
        timer.refresh();
      }
    } catch (error) {
      if (error instanceof ServerError || !(error instanceof Error)) throw error;
      this.stopped.throwIfAborted();
      const reason = timeout.signal.aborted
        ? `no answer for ${idleTimeoutMs / 1_000} s`
        : `connection failed: ${causeOf(error)}`;
      throw new ServerError(`${this.base.host}: ${reason}`);
    } finally {
      clearTimeout(timer);
      timeout.abort();
    }
  }

  private async fetch(url: URL, signal: AbortSignal): Promise<Response> {
    for (let redirects = 0; redirects <= maxRedirects; redirects++) {
      const headers = { authorization: this.authorization, accept: 'application/json' };
      const answer = await fetch(url, { headers, redirect: 'manual', signal });
      const to = answer.headers.get('location');
      if (answer.status === 200) return answer;
      await answer.body?.cancel();
      if (answer.status < 300 || answer.status > 399 || to === null || !URL.canParse(to, url.href))
        throw rejection(url.host, answer.status);
      const next = new URL(to, url);
      // Another origin must not get the password.
      if (next.origin !== this.base.origin)
        throw new ServerError(
          `${url.host} redirects to ${next.origin}: if that is right, use --from ${next.origin}`,
        );
      url = next;
    }
    throw new ServerError(`${url.host} redirects more than ${maxRedirects} times`);
  }
}

function rejection(host: string, status: number): ServerError {
  if (status === 401 || status === 403)
    return new ServerError(`${host} rejects the name or the password (${status})`);
  return new ServerError(`${host} answers with status ${status}`, status);
}

/** Returns true for the statuses with which servers answer unsupported paths. */
function isMissing(status: number | undefined): boolean {
  return status === 400 || status === 404 || status === 405 || status === 501;
}

function causeOf(error: Error): string {
  return error.cause instanceof Error ? error.cause.message : error.message;
}
