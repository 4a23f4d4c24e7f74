import { Readable, pipeline } from 'node:stream';
import { createGzip } from 'node:zlib';
import negotiate from '@fastify/accept-negotiator';
import { Inject, Injectable } from '@nestjs/common';
import { findFeeds, listActions, type ReplyOf, type RequestOf } from '#contracts';
import { type Lane, RequestEnd, Services } from '#http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { callerOf, readerOf } from '../auth/request.caller.js';
import { isDeviceId } from '../devices/device.rule.js';
import { KnownDevices } from '../devices/known.devices.js';
import { CONFIG, type GpodderConfig } from '../gpodder.config.js';
import { queryOf, sinceOf } from '../http/input.js';
import { actionsOf, type Showing } from './shown.action.js';
import { repairFeedUrl } from './url.repair.js';

/** Episodes of the first page, which is sent as soon as it is there, and of each further one. */
const [firstPage, furtherPage] = [100, 250];

/** As the lists are alike all over, the fastest level leaves a tenth of them. */
const compression = { level: 1 };

type Page = ReplyOf<typeof listActions>;
type Question = RequestOf<typeof listActions>;

/**
 * Downloads of actions (docs/reference/gpodder.md, "Actions out"). They are never paged for the client: pages of the service are written as the client
 * reads them, and no more than one is in memory. Of one user as many run at a time as reads do, others wait.
 */
@Injectable()
export class Downloads {
  /** Answers that are sent in pages, from the first byte until the client has read the last one. */
  private readonly streams: Lane;

  constructor(
    private readonly services: Services,
    private readonly devices: KnownDevices,
    @Inject(CONFIG) config: GpodderConfig,
  ) {
    this.streams = { calls: config.MAX_READS_PER_USER, bytes: Infinity };
  }

  /**
   * Answers with the actions of the caller's episodes, where the request asks for them. Once the answer has begun, a failure
   * breaks the connection: of an answer that looks whole, the client would keep the time stamp.
   *
   * @throws Failure before the answer has begun.
   */
  async answer(request: FastifyRequest, reply: FastifyReply, nextcloud: boolean): Promise<void> {
    const caller = callerOf(request);
    const query = queryOf(request);
    const [podcast, device] = [query.get('podcast'), query.get('device')];
    const reader = readerOf(caller, sinceOf(query));
    void reply.type('application/json; charset=utf-8');
    // Nobody is told anything by it.
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
    await this.services.run(this.streams, request, { budgetMs: listActions.deadlineMs }, async () => {
      if (end.reached) return;
      this.stream(request, reply, this.texts(request, question, first, showing));
      await new Promise<void>((resolve) => void end.onReached(resolve));
    });
  }

  /** The URL that the podcast has now; empty, which no podcast has, where it is unknown or can't be used. */
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
      // What a client that reads slowly keeps here: the largest page. Where there is no room for it, the answer breaks off.
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

  private stream(request: FastifyRequest, reply: FastifyReply, texts: AsyncGenerator<string>): void {
    const plain = Readable.from(texts, { highWaterMark: 1 });
    // By this header a client declines compression: the edge would take a level that is for small answers.
    const isAsked = acceptsGzip(request.headers['accept-encoding'] as string | undefined);
    request.headers['x-no-compression'] = 'streamed';
    void reply.header('vary', 'Accept-Encoding');
    if (!isAsked) return void reply.send(plain);
    const packed = createGzip(compression);
    // What fails is told to the reader of the end.
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

/** Whether a request prefers gzip (RFC 9110, 12.5.3). */
function acceptsGzip(header: string | undefined): boolean {
  return negotiate(header?.toLowerCase() ?? '', ['gzip', 'identity']) === 'gzip';
}
