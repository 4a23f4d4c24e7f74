import { Inject, Post, Res } from '@nestjs/common';
import type { Log } from '#runtime';
import type { FastifyReply } from 'fastify';
import { LOG } from '../account.config.js';
import { ForPerson, PageController } from '../pages/person.guard.js';
import { Export } from './export.js';

/** Serves the export of a person's data after a recent sign-in. */
@PageController()
export class ExportController {
  constructor(
    private readonly documents: Export,
    @Inject(LOG) private readonly log: Log,
  ) {}

  /** Sends the exported document. A failure aborts the connection, so that the download fails. */
  @Post('export')
  @ForPerson({ recently: true, next: '/account' })
  async export(@Res() { page }: FastifyReply): Promise<void> {
    const { request, reply, person } = page;
    const document = await this.documents.openDocument(person.account.id, request.ip);
    document.on('error', (error) => {
      // `error` says the cause: timeout, shutdown, the limit of exports, or a failed read.
      this.log.warn(
        { correlationId: request.id, err: error },
        'data export aborted: the download is incomplete',
      );
    });
    if (request.end?.reached) return void document.destroy();
    request.end?.onReached(() => document.destroy());
    // Disables compression, which would occupy a core and delay data that is ready.
    request.headers['x-no-compression'] = 'export';
    void reply
      .code(200)
      .type('application/json; charset=utf-8')
      .header('content-disposition', 'attachment; filename="podcast-sync.json"')
      .send(document);
  }
}
