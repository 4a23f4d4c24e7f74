import { Body, Controller, Get, HttpCode, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { DownloadService } from './download.service.js';
import { UploadService } from './upload.service.js';

/** Uploads and downloads of episode actions by the gpodder API; both versions are the same. */
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

/** Uploads and downloads of episode actions by Nextcloud's gpoddersync. */
@Controller('index.php/apps/gpoddersync')
export class NextcloudActionController {
  constructor(
    private readonly uploads: UploadService,
    private readonly downloads: DownloadService,
  ) {}

  /** Cardo uses the second path. */
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
