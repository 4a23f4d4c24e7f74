import { Readable, pipeline } from 'node:stream';
import { createGzip } from 'node:zlib';
import negotiate from '@fastify/accept-negotiator';
import { Inject, Injectable } from '@nestjs/common';
import { isDeviceId, listActions, type ReplyOf, type RequestOf } from '#contracts';
import { type CallPool, RequestEnd, Services } from '#http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { callerOf, readerOf } from '../auth/request.caller.js';
import { DeviceRegistry } from '../devices/device.registry.js';
import { CONFIG, type GpodderConfig } from '../gpodder.config.js';
import { queryOf, readSince } from '../http/input.js';
import { FeedListService } from '../subscriptions/feed-list.service.js';
import { type ActionSelection, actionsOf } from './download.rules.js';

/** Maximum episodes on the first page of a download, and on each further page. */
const [firstPage, furtherPage] = [100, 250];

/** The fastest level of gzip, which shrinks a list of actions to a tenth. */
const compression = { level: 1 };

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
export class DownloadService {
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
    const reader = readerOf(caller, readSince(query));
    void reply.type('application/json; charset=utf-8');
    // A read would update the sync state of a client that receives no list.
    if (request.method === 'HEAD') return void reply.send('');
    const pageRequest: PageRequest = {
      userId: caller.userId,
      reader,
      perPage: firstPage,
      // If the user has no such podcast, the URL is empty and matches no episode.
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
    const text = textOf(first, selection);
    request.hold?.(text.length);
    if (!first.next) return void reply.send(`{"actions":[${text}],"timestamp":${first.timestamp}}`);
    const end = request.end ?? new RequestEnd();
    await this.services.run(
      this.streams,
      request,
      { budgetMs: listActions.deadlineMs },
      async () => {
        if (end.reached) return;
        this.stream(reply, this.chunks(request, pageRequest, first, selection));
        await new Promise<void>((resolve) => void end.onReached(resolve));
      },
    );
  }

  private readPage(request: FastifyRequest, pageRequest: PageRequest): Promise<Page> {
    return this.services.call(listActions, request, pageRequest);
  }

  /** Generates the JSON of an answer, page by page. */
  private async *chunks(
    request: FastifyRequest,
    pageRequest: PageRequest,
    first: Page,
    selection: ActionSelection,
  ): AsyncGenerator<string> {
    const furtherRequest = { ...pageRequest, perPage: furtherPage };
    let [page, prefix, heldBytes] = [first, '{"actions":[', textOf(first, selection).length];
    for (;;) {
      const text = textOf(page, selection);
      // A slow client keeps a page in memory, so the largest one is counted. Above the limits of
      // memory, `hold` throws, which cuts off the answer.
      if (text.length > heldBytes) request.hold?.(text.length - heldBytes);
      heldBytes = Math.max(heldBytes, text.length);
      if (text !== '') {
        yield prefix + text;
        prefix = ',';
      }
      if (!page.next) break;
      page = await this.readPage(request, { ...furtherRequest, further: page.next });
    }
    yield `${prefix === ',' ? '' : prefix}],"timestamp":${first.timestamp}}`;
  }

  private stream(reply: FastifyReply, chunks: AsyncGenerator<string>): void {
    const plain = Readable.from(chunks, { highWaterMark: 1 });
    // The compression of the HTTP adapter is for small answers. This header disables it.
    const { headers } = reply.request;
    const isCompressed = acceptsGzip(headers['accept-encoding'] as string | undefined);
    headers['x-no-compression'] = 'streamed';
    void reply.header('vary', 'Accept-Encoding');
    if (!isCompressed) return void reply.send(plain);
    const gzip = createGzip(compression);
    // Errors also destroy `gzip`, and the reply handles them.
    pipeline(plain, gzip, () => undefined);
    void reply.header('content-encoding', 'gzip').send(gzip);
  }
}

/** Returns the actions of a page as JSON, separated by commas. */
function textOf({ episodes }: Page, selection: ActionSelection): string {
  return episodes
    .flatMap((episode) => actionsOf(episode, selection))
    .map((action) => JSON.stringify(action))
    .join(',');
}

/** Returns true if a request prefers gzip (RFC 9110, 12.5.3). */
function acceptsGzip(header: string | undefined): boolean {
  return negotiate(header?.toLowerCase() ?? '', ['gzip', 'identity']) === 'gzip';
}
