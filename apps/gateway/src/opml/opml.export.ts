import { Readable } from 'node:stream';
import { Injectable } from '@nestjs/common';
import { listFeeds, type ReplyOf, type RequestOf, textLimits } from '#contracts';
import { largestCompressed, Services } from '#http';
import { opmlEnd, opmlOutline, opmlStart } from '#opml';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { userIdOf } from '../auth/request.user.js';

/** Characters that are written at a time. */
const pieceLength = 16_384;

/** The most bytes of one page of the service: 500 URLs. */
const pageBytes = 500 * textLimits.url;

/**
 * Answers with all feeds that a user is subscribed to, as OPML. Never holds more than a page of them: a short document is
 * sent like any other answer, a longer one page by page, as fast as its client reads. Where a page can't be had any more,
 * the connection ends before the document does.
 */
@Injectable()
export class OpmlExport {
  constructor(private readonly services: Services) {}

  /** @throws Failure as long as nothing was sent. */
  async answer(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const pieces = this.pieces(request);
    let start = '';
    for (let isWhole = false; start.length <= largestCompressed;) {
      const { value, done } = await pieces.next();
      if (done) isWhole = true;
      else start += value;
      if (isWhole) return void describe(reply).send(start);
    }
    request.hold?.(2 * start.length);
    if (request.method !== 'HEAD') return void describe(reply).send(Readable.from(after(start, pieces), once));
    await pieces.return();
    describe(reply).send(Readable.from([]));
  }

  /** The document in pieces; the next page is asked for when all of the one before were taken. */
  private async *pieces(request: FastifyRequest): AsyncGenerator<string, void> {
    const question: RequestOf<typeof listFeeds> = { userId: userIdOf(request) };
    let piece = opmlStart;
    for (let page: ReplyOf<typeof listFeeds> | undefined; !page || page.next;) {
      const further = page?.next;
      page = await this.services.call(listFeeds, request, { ...question, further }, { answerBytes: pageBytes });
      const held = page.add.reduce((sum, url) => sum + 2 * url.length, 0);
      request.hold?.(held);
      for (const url of page.add) {
        piece += opmlOutline(url);
        if (piece.length < pieceLength) continue;
        yield piece;
        piece = '';
      }
      // What is not held any more; that can't be refused.
      request.hold?.(-held, true);
    }
    yield piece + opmlEnd;
  }
}

/** Takes one piece at a time from what it reads. */
const once = { highWaterMark: 1 };

async function* after(start: string, rest: AsyncGenerator<string, void>): AsyncGenerator<string, void> {
  yield start;
  yield* rest;
}

function describe(reply: FastifyReply): FastifyReply {
  return reply
    .type('text/x-opml; charset=utf-8')
    .header('content-disposition', 'attachment; filename="subscriptions.opml"');
}
