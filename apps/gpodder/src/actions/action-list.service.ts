import { Readable, pipeline } from 'node:stream';
import { createGzip } from 'node:zlib';
import negotiate from '@fastify/accept-negotiator';
import { Inject, Injectable } from '@nestjs/common';
import { isDeviceId, listActions, type ReplyOf, type RequestOf } from '#contracts';
import { type CallPool, RequestEnd, Services } from '#http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { callerOf, toReader } from '../auth/request-caller.js';
import { DeviceRegistry } from '../devices/device-registry.js';
import { CONFIG, type GpodderConfig } from '../gpodder.config.js';
import { queryOf, parseSince } from '../http/input.js';
import { FeedListService } from '../subscriptions/feed-list.service.js';
import { type ActionSelection, toClientActions } from './client-action.rules.js';

/** Episodes that the service returns on the first page of a download, and on each later page. */
const [firstPerPage, furtherPerPage] = [100, 250];

/** Options of gzip: its fastest level reduces a list of actions to a tenth. */
const compression = { level: 1 };

/** A page of actions, and the request for it. */
type Page = ReplyOf<typeof listActions>;
type PageRequest = RequestOf<typeof listActions>;

/**
 * Sends downloads of actions, and streams those of several pages (docs/reference/gpodder.md,
 * "Actions out").
 *
 * Invariants:
 * - A download is one answer, with at most one page of the service in memory.
 * - `MAX_READS_PER_USER` limits the concurrent streams of a user; further streams wait.
 * - An incomplete answer is not valid JSON.
 */
@Injectable()
export class ActionListService {
  /** Limits the answers that are streamed to one user concurrently. */
  private readonly streams: CallPool;

  constructor(
    private readonly services: Services,
    private readonly feeds: FeedListService,
    private readonly devices: DeviceRegistry,
    @Inject(CONFIG) config: GpodderConfig,
  ) {
    this.streams = { calls: config.MAX_READS_PER_USER, bytes: Infinity };
  }

  /**
   * Sends the requested actions of the caller's episodes. A failure after the first byte closes the
   * connection, so that the client does not store the timestamp of an incomplete answer.
   *
   * @throws Failure before the answer starts.
   */
  async download(reply: FastifyReply, isNextcloud: boolean): Promise<void> {
    const { request } = reply;
    const caller = callerOf(request);
    const query = queryOf(request);
    const [podcast, device] = [query.get('podcast'), query.get('device')];
    const reader = toReader(caller, parseSince(query));
    void reply.type('application/json; charset=utf-8');
    // Reads no list for HEAD: a read would update the sync state, but the client gets no list.
    if (request.method === 'HEAD') return void reply.send('');
    const pageRequest: PageRequest = {
      userId: caller.userId,
      reader,
      perPage: firstPerPage,
      // An empty URL, which matches no episode, if the user has no such podcast.
      ...(podcast !== null && {
        feedUrl: (await this.feeds.currentUrl(request, podcast)) ?? '',
      }),
    };
    const aggregated = query.get('aggregated')?.toLowerCase() === 'true' ? 'aggregated' : 'all';
    const selection = isNextcloud ? 'nextcloud' : aggregated;
    const [first] = await Promise.all([
      this.readPage(request, pageRequest),
      this.devices.register(request, isDeviceId(device) ? [device] : []),
    ]);
    const text = toJson(first, selection);
    request.hold?.(text.length);
    if (!first.next) return void reply.send(`{"actions":[${text}],"timestamp":${first.timestamp}}`);
    const end = request.end ?? new RequestEnd();
    await this.services.run(
      this.streams,
      request,
      { timeLimitMs: listActions.deadlineMs },
      async () => {
        if (end.reached) return;
        this.streamChunks(reply, this.generateChunks(request, pageRequest, first, selection));
        await new Promise<void>((resolve) => void end.onReached(resolve));
      },
    );
  }

  private readPage(request: FastifyRequest, pageRequest: PageRequest): Promise<Page> {
    return this.services.call(listActions, request, pageRequest);
  }

  /** Generates the JSON of an answer, page by page. */
  private async *generateChunks(
    request: FastifyRequest,
    pageRequest: PageRequest,
    first: Page,
    selection: ActionSelection,
  ): AsyncGenerator<string> {
    const nextPageRequest = { ...pageRequest, perPage: furtherPerPage };
    let [page, prefix, heldBytes] = [first, '{"actions":[', toJson(first, selection).length];
    for (;;) {
      const text = toJson(page, selection);
      // Counts the bytes of the largest page, because one page stays in memory while a client reads
      // slowly. Above the memory limits `hold` throws, which cuts off the answer.
      if (text.length > heldBytes) request.hold?.(text.length - heldBytes);
      heldBytes = Math.max(heldBytes, text.length);
      if (text !== '') {
        yield prefix + text;
        prefix = ',';
      }
      if (!page.next) break;
      page = await this.readPage(request, { ...nextPageRequest, further: page.next });
    }
    yield `${prefix === ',' ? '' : prefix}],"timestamp":${first.timestamp}}`;
  }

  /** Sends chunks as they are generated, compressed if the client accepts gzip. */
  private streamChunks(reply: FastifyReply, chunks: AsyncGenerator<string>): void {
    const plain = Readable.from(chunks, { highWaterMark: 1 });
    // Disables the compression of the HTTP adapter, which is for small answers, by a header.
    const { headers } = reply.request;
    const isCompressed = acceptsGzip(headers['accept-encoding'] as string | undefined);
    headers['x-no-compression'] = 'streamed';
    void reply.header('vary', 'Accept-Encoding');
    if (!isCompressed) return void reply.send(plain);
    const gzip = createGzip(compression);
    // Needs no error handler: an error also destroys `gzip`, and the reply handles that.
    pipeline(plain, gzip, () => undefined);
    void reply.header('content-encoding', 'gzip').send(gzip);
  }
}

/** Returns the actions of a page as JSON, separated by commas. */
function toJson({ episodes }: Page, selection: ActionSelection): string {
  return episodes
    .flatMap((episode) => toClientActions(episode, selection))
    .map((action) => JSON.stringify(action))
    .join(',');
}

/** Returns true if a request prefers gzip (RFC 9110, 12.5.3). */
function acceptsGzip(header: string | undefined): boolean {
  return negotiate(header?.toLowerCase() ?? '', ['gzip', 'identity']) === 'gzip';
}
