import { Body, Controller, Get, HttpCode, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { ActionListService } from './action-list.service.js';
import { ActionUploadService } from './action-upload.service.js';

const gpodderPath = 'api/:version([12])/episodes/:user.json';
const nextcloudPath = 'index.php/apps/gpoddersync';

/** Serves uploads and downloads of episode actions (gpodder API and Nextcloud). */
@Controller()
export class ActionController {
  constructor(
    private readonly uploads: ActionUploadService,
    private readonly downloads: ActionListService,
  ) {}

  /** Uploads actions. The podcast app Cardo uses the path `episodes/create`. */
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
