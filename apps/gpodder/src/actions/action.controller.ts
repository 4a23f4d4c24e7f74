import { Body, Controller, Get, HttpCode, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { DownloadService } from './download.service.js';
import { UploadService } from './upload.service.js';

/** Endpoints for episode actions of the gpodder API. Versions 1 and 2 behave in the same way. */
@Controller(['api/1/episodes', 'api/2/episodes'])
export class EpisodeActionController {
  constructor(
    private readonly uploads: UploadService,
    private readonly downloads: DownloadService,
  ) {}

  @Post(':user.json')
  @HttpCode(200)
  upload(@Req() request: FastifyRequest, @Body() body: Buffer | undefined) {
    return this.uploads.upload(request, body);
  }

  @Get(':user.json')
  download(@Req() request: FastifyRequest, @Res() reply: FastifyReply) {
    return this.downloads.download(request, reply, false);
  }
}

/** Endpoints for episode actions with the paths of Nextcloud's app gpoddersync. */
@Controller('index.php/apps/gpoddersync')
export class NextcloudActionController {
  constructor(
    private readonly uploads: UploadService,
    private readonly downloads: DownloadService,
  ) {}

  /** The podcast app Cardo uploads to `episodes/create`. */
  @Post(['episode_action/create', 'episodes/create'])
  @HttpCode(200)
  upload(@Req() request: FastifyRequest, @Body() body: Buffer | undefined) {
    return this.uploads.upload(request, body);
  }

  @Get('episode_action')
  download(@Req() request: FastifyRequest, @Res() reply: FastifyReply) {
    return this.downloads.download(request, reply, true);
  }
}
