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

/** Episodes on the first page that a download requests, and on each later page. */
const [firstPerPage, furtherPerPage] = [100, 250];

/** Options of gzip. Its fastest level already reduces a list of actions to a tenth. */
const gzipOptions = { level: 1 };

/** A page of actions, and the request for it. */
type ActionPage = ReplyOf<typeof listActions>;
type PageRequest = RequestOf<typeof listActions>;

/**
 * Sends downloads of actions, and streams those of several pages (docs/reference/gpodder.md,
 * "Actions out").
 *
 * Invariants:
 * - A download is one answer, with at most one page of the service in memory.
 * - `MAX_READS_PER_USER` limits the concurrent streams of a user; further streams wait.
 * - An answer that breaks off is not valid JSON.
 */
@Injectable()
export class ActionListService {
  /** Limits the answers that are streamed to one user concurrently. */
  private readonly streamPool: CallPool;

  constructor(
    private readonly services: Services,
    private readonly feeds: FeedListService,
    private readonly devices: DeviceRegistry,
    @Inject(CONFIG) config: GpodderConfig,
  ) {
    this.streamPool = { calls: config.MAX_READS_PER_USER, bytes: Infinity };
  }

  /**
   * Sends the requested actions of the caller's episodes. A failure after the first byte closes the
   * connection, so that the client does not store the timestamp of an incomplete answer.
   *
   * @throws Failure if a call fails before the answer starts.
   */
  async download(reply: FastifyReply, isNextcloud: boolean): Promise<void> {
    const { request } = reply;
    const caller = callerOf(request);
    const query = queryOf(request);
    const [podcast, device] = [query.get('podcast'), query.get('device')];
    const reader = toReader(caller, parseSince(query));
    void reply.type('application/json; charset=utf-8');
    // A HEAD must not update the client's sync state, because the client gets no list.
    if (request.method === 'HEAD') return void reply.send('');
    const pageRequest: PageRequest = {
      userId: caller.userId,
      reader,
      perPage: firstPerPage,
      // If the user has no such podcast, sends an empty URL, which matches no episode.
      ...(podcast !== null && {
        feedUrl: (await this.feeds.currentUrl(request, podcast)) ?? '',
      }),
    };
    const gpodderSelection =
      query.get('aggregated')?.toLowerCase() === 'true' ? 'aggregated' : 'all';
    const selection: ActionSelection = isNextcloud ? 'nextcloud' : gpodderSelection;
    const [firstPage] = await Promise.all([
      this.readPage(request, pageRequest),
      this.devices.register(request, isDeviceId(device) ? [device] : []),
    ]);
    const actionsJson = toJson(firstPage, selection);
    request.hold?.(actionsJson.length);
    if (!firstPage.next)
      return void reply.send(`{"actions":[${actionsJson}],"timestamp":${firstPage.timestamp}}`);
    const end = request.end ?? new RequestEnd();
    await this.services.run(
      this.streamPool,
      request,
      { timeLimitMs: listActions.deadlineMs },
      async () => {
        if (end.reached) return;
        this.streamChunks(reply, this.generateChunks(request, pageRequest, firstPage, selection));
        await new Promise<void>((resolve) => void end.onReached(resolve));
      },
    );
  }

  private readPage(request: FastifyRequest, pageRequest: PageRequest): Promise<ActionPage> {
    return this.services.call(listActions, request, pageRequest);
  }

  /** Generates the JSON of an answer, page by page. */
  private async *generateChunks(
    request: FastifyRequest,
    pageRequest: PageRequest,
    firstPage: ActionPage,
    selection: ActionSelection,
  ): AsyncGenerator<string> {
    const nextPageRequest = { ...pageRequest, perPage: furtherPerPage };
    let [page, prefix, heldBytes] = [
      firstPage,
      '{"actions":[',
      toJson(firstPage, selection).length,
    ];
    for (;;) {
      const actionsJson = toJson(page, selection);
      // Counts the bytes of the largest page, because one page stays in memory while a client reads
      // slowly. Above the memory limits `hold` throws, which cuts off the answer.
      if (actionsJson.length > heldBytes) request.hold?.(actionsJson.length - heldBytes);
      heldBytes = Math.max(heldBytes, actionsJson.length);
      if (actionsJson !== '') {
        yield prefix + actionsJson;
        prefix = ',';
      }
      if (!page.next) break;
      page = await this.readPage(request, { ...nextPageRequest, further: page.next });
    }
    yield `${prefix === ',' ? '' : prefix}],"timestamp":${firstPage.timestamp}}`;
  }

  /** Sends chunks as they are generated, compressed if the client accepts gzip. */
  private streamChunks(reply: FastifyReply, chunks: AsyncGenerator<string>): void {
    const plainStream = Readable.from(chunks, { highWaterMark: 1 });
    // Sets a header that disables the compression of the HTTP adapter, which is for small answers.
    const { headers } = reply.request;
    const isCompressed = acceptsGzip(headers['accept-encoding'] as string | undefined);
    headers['x-no-compression'] = 'streamed';
    void reply.header('vary', 'Accept-Encoding');
    if (!isCompressed) return void reply.send(plainStream);
    const gzipStream = createGzip(gzipOptions);
    // The callback ignores errors, because an error also destroys `gzipStream`, and Fastify then
    // closes the connection.
    pipeline(plainStream, gzipStream, () => undefined);
    void reply.header('content-encoding', 'gzip').send(gzipStream);
  }
}

/** Returns the actions of a page as JSON objects, separated by commas. */
function toJson({ episodes }: ActionPage, selection: ActionSelection): string {
  return episodes
    .flatMap((episode) => toClientActions(episode, selection))
    .map((action) => JSON.stringify(action))
    .join(',');
}

/** Returns true if the header `Accept-Encoding` prefers gzip (RFC 9110, 12.5.3). */
function acceptsGzip(acceptEncoding: string | undefined): boolean {
  return negotiate(acceptEncoding?.toLowerCase() ?? '', ['gzip', 'identity']) === 'gzip';
}
