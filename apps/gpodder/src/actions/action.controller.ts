import { Body, Controller, Get, HttpCode, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { ActionListService } from './action-list.service.js';
import { ActionUploadService } from './action-upload.service.js';

const gpodderPath = 'api/:version([12])/episodes/:user.json';
const nextcloudPath = 'index.php/apps/gpoddersync';

/** Uploads and downloads of episode actions, by the gpodder API and that of Nextcloud. */
@Controller()
export class ActionController {
  constructor(
    private readonly uploads: ActionUploadService,
    private readonly downloads: ActionListService,
  ) {}

  /** Uploads actions. `episodes/create` is the path of the podcast app Cardo. */
  @Post([gpodderPath, `${nextcloudPath}/episode_action/create`, `${nextcloudPath}/episodes/create`])
  @HttpCode(200)
  upload(@Req() request: FastifyRequest, @Body() body: Buffer | undefined) {
    return this.uploads.upload(request, body);
  }

  @Get(gpodderPath)
  download(@Res() reply: FastifyReply) {
    return this.downloads.download(reply, false);
  }

  @Get(`${nextcloudPath}/episode_action`)
  downloadForNextcloud(@Res() reply: FastifyReply) {
    return this.downloads.download(reply, true);
  }
}
