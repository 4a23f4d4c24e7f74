import { Readable, pipeline } from 'node:stream';
import { createGzip } from 'node:zlib';
import negotiate from '@fastify/accept-negotiator';
import { Inject, Injectable } from '@nestjs/common';
import { findFeeds, isDeviceId, listActions, type ReplyOf, type RequestOf } from '#contracts';
import { type Lane, RequestEnd, Services } from '#http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { callerOf, readerOf } from '../auth/request.caller.js';
import { KnownDevices } from '../devices/known.devices.js';
import { CONFIG, type GpodderConfig } from '../gpodder.config.js';
import { queryOf, sinceOf } from '../http/input.js';
import { actionsOf, type Showing } from './shown.action.js';
import { repairFeedUrl } from './url.repair.js';

/** Episodes of the first page, which is sent as soon as it is read, and of each further page. */
const [firstPage, furtherPage] = [100, 250];

/** The fastest level: lists are repetitive and shrink to a tenth. */
const compression = { level: 1 };

type Page = ReplyOf<typeof listActions>;
type Question = RequestOf<typeof listActions>;

/**
 * Downloads of actions (docs/reference/gpodder.md, "Actions out"). Clients get them in one answer.
 * It is streamed as the client reads, with one page of the service in memory. Each user has as many
 * concurrent downloads as reads; others wait.
 */
@Injectable()
export class Downloads {
  /** Streamed answers, from the first byte until the client has read the last one. */
  private readonly streams: Lane;

  constructor(
    private readonly services: Services,
    private readonly devices: KnownDevices,
    @Inject(CONFIG) config: GpodderConfig,
  ) {
    this.streams = { calls: config.MAX_READS_PER_USER, bytes: Infinity };
  }

  /**
   * Answers with the requested actions of the caller's episodes. A failure after the start breaks
   * the connection, because the client would store the timestamp of a complete answer.
   *
   * @throws Failure before the answer starts.
   */
  async answer(request: FastifyRequest, reply: FastifyReply, nextcloud: boolean): Promise<void> {
    const caller = callerOf(request);
    const query = queryOf(request);
    const [podcast, device] = [query.get('podcast'), query.get('device')];
    const reader = readerOf(caller, sinceOf(query));
    void reply.type('application/json; charset=utf-8');
    // Does not read the list, because the service would store it as answered.
    if (request.method === 'HEAD') return void reply.send('');
    const question: Question = {
      userId: caller.userId,
      reader,
      perPage: firstPage,
      ...(podcast !== null && { feedUrl: await this.currentUrl(request, podcast) }),
    };
    const aggregated = query.get('aggregated')?.toLowerCase() === 'true' ? 'aggregated' : 'all';
    const showing = nextcloud ? 'nextcloud' : aggregated;
    const [first] = await Promise.all([
      this.page(request, question),
      this.devices.use(request, isDeviceId(device) ? [device] : []),
    ]);
    const text = textOf(first, showing);
    request.hold?.(text.length);
    if (!first.next) return void reply.send(`{"actions":[${text}],"timestamp":${first.timestamp}}`);
    const end = request.end ?? new RequestEnd();
    await this.services.run(
      this.streams,
      request,
      { budgetMs: listActions.deadlineMs },
      async () => {
        if (end.reached) return;
        this.stream(request, reply, this.texts(request, question, first, showing));
        await new Promise<void>((resolve) => void end.onReached(resolve));
      },
    );
  }

  /** Returns the podcast's current URL; an empty one, which matches none, if it is unknown. */
  private async currentUrl(request: FastifyRequest, sent: string): Promise<string> {
    const url = repairFeedUrl(sent);
    if (url === undefined) return '';
    const { userId } = callerOf(request);
    const { feeds } = await this.services.call(findFeeds, request, { userId, feedUrls: [url] });
    return feeds[0]?.feedUrl ?? '';
  }

  private page(request: FastifyRequest, question: Question): Promise<Page> {
    return this.services.call(listActions, request, question);
  }

  private async *texts(
    request: FastifyRequest,
    question: Question,
    first: Page,
    showing: Showing,
  ): AsyncGenerator<string> {
    let [page, begin, held] = [first, '{"actions":[', textOf(first, showing).length];
    for (;;) {
      const text = textOf(page, showing);
      // A slow client keeps the largest page in memory. Without room for it, the answer breaks off.
      if (text.length > held) request.hold?.(text.length - held);
      held = Math.max(held, text.length);
      if (text !== '') {
        yield begin + text;
        begin = ',';
      }
      if (!page.next) break;
      page = await this.page(request, { ...question, perPage: furtherPage, further: page.next });
    }
    yield `${begin === ',' ? '' : begin}],"timestamp":${first.timestamp}}`;
  }

  private stream(
    request: FastifyRequest,
    reply: FastifyReply,
    texts: AsyncGenerator<string>,
  ): void {
    const plain = Readable.from(texts, { highWaterMark: 1 });
    // With this header the HTTP adapter does not compress; its level is for small answers.
    const isAsked = acceptsGzip(request.headers['accept-encoding'] as string | undefined);
    request.headers['x-no-compression'] = 'streamed';
    void reply.header('vary', 'Accept-Encoding');
    if (!isAsked) return void reply.send(plain);
    const packed = createGzip(compression);
    // `packed` gets the errors too, and its reader handles them.
    pipeline(plain, packed, () => undefined);
    void reply.header('content-encoding', 'gzip').send(packed);
  }
}

function textOf({ episodes }: Page, showing: Showing): string {
  return episodes
    .flatMap((episode) => actionsOf(episode, showing))
    .map((action) => JSON.stringify(action))
    .join(',');
}

/** Returns true if a request prefers gzip (RFC 9110, 12.5.3). */
function acceptsGzip(header: string | undefined): boolean {
  return negotiate(header?.toLowerCase() ?? '', ['gzip', 'identity']) === 'gzip';
}
