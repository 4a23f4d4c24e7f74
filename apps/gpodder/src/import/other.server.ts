import { z } from 'zod';
import { AnswerError, JsonElements, parsed } from './json.elements.js';
import type { SkippedEntries } from './skipped.entries.js';

/** Maximum pause in an answer of the other server, in milliseconds. */
const patienceMs = 120_000;
/** Maximum redirects, and maximum characters of an answer that is no list of actions. */
const [mostRedirects, mostBytes] = [5, 33_554_432];

/** Error for an answer that is missing, negative or not of the protocol. */
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
const titledSchema = z.object({ url: z.string() });

/** Generates the JSON texts of actions. Returns the next request's timestamp, or 0. */
export type Actions = AsyncGenerator<string, number>;

/** The server that an account is imported from. */
export interface OtherServer {
  /** Name of its protocol, for people. */
  readonly protocol: string;
  /** Returns the subscribed feeds: URLs, objects with a `url`, or invalid entries. */
  feeds(): Promise<unknown[]>;
  actions(since: number): Actions;
  /** Returns the favourites: objects with `url` and `podcast_url`, or invalid entries. */
  favorites(): Promise<unknown[]>;
}

/** Detects a server's protocol. @throws ServerError for no known one or a wrong password. */
export async function meet(
  from: URL,
  { login, password }: { login: string; password: string },
  stopped: AbortSignal,
  skipped: SkippedEntries,
): Promise<OtherServer> {
  const http = new OtherHttp(
    from,
    `Basic ${Buffer.from(`${login}:${password}`).toString('base64')}`,
    stopped,
  );
  const user = encodeURIComponent(login);
  const devices = await http.found(`api/2/devices/${user}.json`, listSchema);
  if (devices) return gpodder(http, user, devices, skipped);
  const base = 'index.php/apps/gpoddersync';
  const feeds = await http.found(`${base}/subscriptions?since=0`, feedsSchema);
  if (!feeds) throw new ServerError('neither the gpodder API nor gpoddersync is there (--from)');
  return {
    protocol: 'gpoddersync',
    feeds: async () => feeds.add,
    actions: (since) => http.actions(`${base}/episode_action?since=${since}`),
    favorites: async () => [],
  };
}

function gpodder(
  http: OtherHttp,
  user: string,
  devices: unknown[],
  skipped: SkippedEntries,
): OtherServer {
  /** On gpodder.net each device has its own list. */
  const feedsOf = async (device: unknown): Promise<unknown[]> => {
    const { data } = deviceSchema.safeParse(device);
    const path = data && `api/2/subscriptions/${user}/${encodeURIComponent(data.id)}.json?since=0`;
    const list = path && (await http.found(path, feedsSchema));
    if (list) return list.add;
    skipped.add(
      'device',
      data?.id ?? device,
      data ? 'it has no list of subscriptions' : 'it has no id',
    );
    return [];
  };
  return {
    protocol: 'the gpodder API',
    feeds: async () => {
      const titled = (await http.found(`subscriptions/${user}.json`, listSchema)) ?? [];
      if (devices.length === 0) return titled;
      const feeds: unknown[] = [];
      for (const device of devices) feeds.push(...(await feedsOf(device)));
      // The lists of devices have only URLs, the other one also titles.
      const urls = new Set(feeds);
      return [
        ...feeds,
        ...titled.filter((feed) => urls.has(titledSchema.safeParse(feed).data?.url)),
      ];
    },
    actions: (since) => http.actions(`api/2/episodes/${user}.json?since=${since}`),
    favorites: async () => (await http.found(`api/2/favorites/${user}.json`, listSchema)) ?? [],
  };
}

/** Sends requests only to the other server's origin. */
class OtherHttp {
  constructor(
    private readonly from: URL,
    private readonly authorization: string,
    private readonly stopped: AbortSignal,
  ) {}

  /** @throws ServerError; AnswerError for another answer than the schema's. */
  async get<Answer extends z.ZodType>(path: string, schema: Answer): Promise<z.output<Answer>> {
    let text = '';
    for await (const chunk of this.chunks(path)) {
      text += chunk;
      if (text.length > mostBytes) throw new ServerError(`${place(path)} answers too much`);
    }
    return readAs(schema, text, path);
  }

  /** Like `get`, but returns `undefined` if the path is missing or has another answer. */
  async found<Answer extends z.ZodType>(
    path: string,
    schema: Answer,
  ): Promise<z.output<Answer> | undefined> {
    try {
      return await this.get(path, schema);
    } catch (error) {
      const isOther =
        error instanceof AnswerError || (error instanceof ServerError && isMissing(error.status));
      if (isOther) return undefined;
      throw error;
    }
  }

  async *actions(path: string): Actions {
    const end = yield* new JsonElements('actions').of(this.chunks(path));
    const { timestamp } = end;
    const since =
      typeof timestamp === 'string' || typeof timestamp === 'number'
        ? Math.floor(Number(timestamp))
        : 0;
    return Number.isSafeInteger(since) ? since : 0;
  }

  private async *chunks(path: string): AsyncGenerator<string> {
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(), patienceMs);
    try {
      const signal = AbortSignal.any([late.signal, this.stopped]);
      const answer = await this.answer(new URL(path, this.from), signal);
      const text = new TextDecoder();
      for await (const chunk of answer.body ?? []) {
        timer.refresh();
        yield text.decode(chunk as Uint8Array, { stream: true });
        timer.refresh();
      }
    } catch (error) {
      if (error instanceof ServerError || !(error instanceof Error)) throw error;
      this.stopped.throwIfAborted();
      const why = late.signal.aborted ? 'took too long' : `broke off: ${causeOf(error)}`;
      throw new ServerError(`${this.from.host} ${why}`);
    } finally {
      clearTimeout(timer);
      late.abort();
    }
  }

  private async answer(url: URL, signal: AbortSignal): Promise<Response> {
    for (let redirects = 0; redirects <= mostRedirects; redirects++) {
      const headers = { authorization: this.authorization, accept: 'application/json' };
      const answer = await fetch(url, { headers, redirect: 'manual', signal });
      const to = answer.headers.get('location');
      if (answer.status === 200) return answer;
      await answer.body?.cancel();
      if (answer.status < 300 || answer.status > 399 || to === null || !URL.canParse(to, url.href))
        throw refusal(url.host, answer.status);
      const next = new URL(to, url);
      // Another origin must not get the password.
      if (next.origin !== this.from.origin)
        throw new ServerError(
          `${url.host} sends us to ${next.origin}; if that is right, say --from ${next.origin}`,
        );
      url = next;
    }
    throw new ServerError(`${url.host} sends us round in circles`);
  }
}

function refusal(host: string, status: number): ServerError {
  if (status === 401 || status === 403)
    return new ServerError(`${host} refuses the name or the password (${status})`);
  return new ServerError(`${host} answers ${status}`, status);
}

/** Returns true for the statuses of servers at unsupported paths. */
function isMissing(status: number | undefined): boolean {
  return status === 400 || status === 404 || status === 405 || status === 501;
}

function readAs<Answer extends z.ZodType>(
  schema: Answer,
  text: string,
  path: string,
): z.output<Answer> {
  const { success, data } = schema.safeParse(parsed(text));
  if (!success) throw new AnswerError(`${place(path)} answers something else`);
  return data;
}

function place(path: string): string {
  return path.split('?', 1)[0] as string;
}

function causeOf(error: Error): string {
  return error.cause instanceof Error ? error.cause.message : error.message;
}
