import { Body, Controller, Get, HttpCode, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Downloads } from './download.js';
import { Uploads } from './upload.js';

/** Episode actions of the gpodder API; both versions are the same. */
@Controller(['api/1/episodes', 'api/2/episodes'])
export class EpisodeActionController {
  constructor(
    private readonly uploads: Uploads,
    private readonly downloads: Downloads,
  ) {}

  @Post(':user.json')
  @HttpCode(200)
  upload(@Req() request: FastifyRequest, @Body() body: Buffer | undefined) {
    return this.uploads.answer(request, body);
  }

  @Get(':user.json')
  download(@Req() request: FastifyRequest, @Res() reply: FastifyReply) {
    return this.downloads.answer(request, reply, false);
  }
}

/** Episode actions of Nextcloud's gpoddersync. */
@Controller('index.php/apps/gpoddersync')
export class NextcloudActionController {
  constructor(
    private readonly uploads: Uploads,
    private readonly downloads: Downloads,
  ) {}

  /** Cardo uses the second path. */
  @Post(['episode_action/create', 'episodes/create'])
  @HttpCode(200)
  upload(@Req() request: FastifyRequest, @Body() body: Buffer | undefined) {
    return this.uploads.answer(request, body);
  }

  @Get('episode_action')
  download(@Req() request: FastifyRequest, @Res() reply: FastifyReply) {
    return this.downloads.answer(request, reply, true);
  }
}
