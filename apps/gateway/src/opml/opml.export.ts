import { Readable } from 'node:stream';
import { Injectable } from '@nestjs/common';
import { listFeeds, type ReplyOf, type RequestOf, textLimits } from '#contracts';
import { maxCompressedBytes, Services } from '#http';
import { opmlEnd, opmlOutline, opmlStart } from '#opml';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { userIdOf } from '../http/server.options.js';

/** Minimum characters of each chunk except the last. */
const pieceLength = 16_384;

/** Maximum bytes of one page of the service: 500 URLs with titles. */
const pageBytes = 500 * (textLimits.url + textLimits.title);

/**
 * Answers with all subscribed feeds of a user as OPML. A document of up to
 * {@link maxCompressedBytes} characters is an ordinary answer. A longer document is streamed page
 * by page, as fast as the client reads. If reading a page then fails, the connection closes before
 * the end of the document.
 */
@Injectable()
export class OpmlExport {
  constructor(private readonly services: Services) {}

  /** @throws Failure before anything is sent. */
  async answer(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const pieces = this.pieces(request);
    let start = '';
    for (let isWhole = false; start.length <= maxCompressedBytes;) {
      const { value, done } = await pieces.next();
      if (done) isWhole = true;
      else start += value;
      if (isWhole) return void describe(reply).send(start);
    }
    request.hold?.(2 * start.length);
    if (request.method !== 'HEAD')
      return void describe(reply).send(Readable.from(after(start, pieces), oneChunk));
    await pieces.return();
    describe(reply).send(Readable.from([]));
  }

  /** Generates the document in chunks. Reads a page only after the previous page is consumed. */
  private async *pieces(request: FastifyRequest): AsyncGenerator<string, void> {
    const listRequest: RequestOf<typeof listFeeds> = { userId: userIdOf(request) };
    let piece = opmlStart;
    for (let page: ReplyOf<typeof listFeeds> | undefined; !page || page.next;) {
      const further = page?.next;
      page = await this.services.call(
        listFeeds,
        request,
        { ...listRequest, further },
        { answerBytes: pageBytes },
      );
      const { add, titles = [] } = page;
      const held = [...add, ...titles].reduce((sum, text) => sum + 2 * (text?.length ?? 0), 0);
      request.hold?.(held);
      for (const [index, url] of add.entries()) {
        piece += opmlOutline(url, titles[index]);
        if (piece.length < pieceLength) continue;
        yield piece;
        piece = '';
      }
      // Releases the bytes of the page. With `always` the call never fails.
      request.hold?.(-held, true);
    }
    yield piece + opmlEnd;
  }
}

/** Buffers one chunk at a time. */
const oneChunk = { highWaterMark: 1 };

async function* after(
  start: string,
  rest: AsyncGenerator<string, void>,
): AsyncGenerator<string, void> {
  yield start;
  yield* rest;
}

function describe(reply: FastifyReply): FastifyReply {
  return reply
    .type('text/x-opml; charset=utf-8')
    .header('content-disposition', 'attachment; filename="subscriptions.opml"');
}
