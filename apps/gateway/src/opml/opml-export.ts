import { Readable } from 'node:stream';
import { Injectable } from '@nestjs/common';
import { listFeeds, type ReplyOf, type RequestOf, textLimits } from '#contracts';
import { maxCompressedBytes, Services } from '#http';
import { opmlEnd, opmlOutline, opmlStart } from '#opml';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { userIdOf } from '../http/server-options.js';

/** Minimum characters of each chunk of a document except the last. */
const minChunkLength = 16_384;

/** Maximum bytes of one page that the service returns: 500 URLs with titles. */
const maxPageBytes = 500 * (textLimits.url + textLimits.title);

/**
 * Answers with all subscribed feeds of a user as OPML. A document of up to
 * {@link maxCompressedBytes} characters is sent as a whole. A longer document is streamed page by
 * page, as fast as the client reads. If a later page cannot be read, the connection closes before
 * the end of the document.
 */
@Injectable()
export class OpmlExport {
  constructor(private readonly services: Services) {}

  /** Sends the document. @throws Failure if a read fails before the answer starts. */
  async sendDocument(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const chunks = this.generateChunks(request);
    let documentStart = '';
    for (let isWhole = false; documentStart.length <= maxCompressedBytes;) {
      const { value, done } = await chunks.next();
      if (done) isWhole = true;
      else documentStart += value;
      if (isWhole) return void addOpmlHeaders(reply).send(documentStart);
    }
    request.hold?.(2 * documentStart.length);
    if (request.method !== 'HEAD')
      return void addOpmlHeaders(reply).send(
        Readable.from(concatenateChunks(documentStart, chunks), oneChunkOptions),
      );
    await chunks.return();
    addOpmlHeaders(reply).send(Readable.from([]));
  }

  /** Generates the document in chunks. Reads each page when the previous page is sent. */
  private async *generateChunks(request: FastifyRequest): AsyncGenerator<string, void> {
    const listRequest: RequestOf<typeof listFeeds> = { userId: userIdOf(request) };
    let chunk = opmlStart;
    for (let page: ReplyOf<typeof listFeeds> | undefined; !page || page.next;) {
      const further = page?.next;
      page = await this.services.call(
        listFeeds,
        request,
        { ...listRequest, further },
        { reservedBytes: maxPageBytes },
      );
      const { add, titles = [] } = page;
      const bufferedBytes = [...add, ...titles].reduce(
        (sum, text) => sum + 2 * (text?.length ?? 0),
        0,
      );
      request.hold?.(bufferedBytes);
      for (const [index, url] of add.entries()) {
        chunk += opmlOutline(url, titles[index]);
        if (chunk.length < minChunkLength) continue;
        yield chunk;
        chunk = '';
      }
      // Stops counting the bytes of the page. With `true`, `hold` never throws.
      request.hold?.(-bufferedBytes, true);
    }
    yield chunk + opmlEnd;
  }
}

/** Options of a stream that buffers one chunk at a time. */
const oneChunkOptions = { highWaterMark: 1 };

async function* concatenateChunks(
  documentStart: string,
  furtherChunks: AsyncGenerator<string, void>,
): AsyncGenerator<string, void> {
  yield documentStart;
  yield* furtherChunks;
}

/** Sets the headers of an OPML answer. */
function addOpmlHeaders(reply: FastifyReply): FastifyReply {
  return reply
    .type('text/x-opml; charset=utf-8')
    .header('content-disposition', 'attachment; filename="subscriptions.opml"');
}
