import { hash } from 'node:crypto';
import { Body, Controller, Get, HttpCode, Inject, Post, Req, Res } from '@nestjs/common';
import { ApiQuery, ApiResponse, ApiTags } from '@nestjs/swagger';
import {
  Failure,
  guidSchema,
  JsonText,
  listFeedEpisodes,
  listPodcasts,
  mostPodcasts,
  refreshFeeds,
} from '#contracts';
import { linkBase, Services } from '#http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { z } from 'zod';
import { UserId } from '../auth/request.user.js';
import { CONFIG, type GatewayConfig } from '../gateway.config.js';
import { QueryString } from '../http/query.string.js';
import { Operation } from '../openapi.decorators.js';
import { feedEpisodesSchema, podcastPageSchema, refreshSchema } from './feed.schemas.js';

const defaultPerPage = 50;
/** Approximate maximum bytes of a podcast, and of an episode, in an answer. */
const [podcastBytes, episodeBytes] = [16_384, 16_384];
/** Maximum number of episodes of a podcast. */
const mostEpisodes = 100;

/** /feeds (docs/reference/interface-feeds.md). They do not exist with FEEDS=off. */
@ApiTags('Feeds')
@Controller('feeds')
export class FeedController {
  constructor(
    private readonly services: Services,
    @Inject(CONFIG) private readonly config: GatewayConfig,
  ) {}

  @Get()
  @ApiQuery({
    name: 'per_page',
    required: false,
    description: `Rows on a page, ${defaultPerPage} unless sent, clamped to ${mostPodcasts}.`,
    schema: { type: 'integer', minimum: 1 },
  })
  @ApiQuery({
    name: 'cursor',
    required: false,
    description: 'From the link of a page.',
    schema: { type: 'string' },
  })
  @ApiResponse({ status: 304, description: 'Nothing changed.' })
  @Operation(
    'Lists the subscribed podcasts as their publishers describe them',
    { status: 200, schema: podcastPageSchema },
    [],
  )
  async list(
    @UserId() userId: string,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    const url = new URL(`${linkBase(request, this.config)}${request.url}`);
    const query = new QueryString(url.search, ['per_page', 'cursor']);
    const perPage = Math.min(integerOf(query, 'per_page') || defaultPerPage, mostPodcasts);
    const after = integerOf(query, 'cursor');
    const { feeds, next } = await this.services.call(
      listPodcasts,
      request,
      { userId, after, perPage },
      { answerBytes: Math.min(perPage * podcastBytes, this.config.MAX_ANSWER_BYTES) },
    );
    const link = next && `${url.origin}${url.pathname}${query.with({ cursor: String(next) })}`;
    const envelope = JSON.stringify({ per_page: perPage, next: link });
    const page = JsonText.concat(`${envelope.slice(0, -1)},"feeds":`, feeds, '}');
    const etag = `W/"${hash('sha256', page.text, 'base64url').slice(0, 22)}"`;
    void reply.headers({
      etag,
      'cache-control': 'private, no-cache',
      vary: [reply.getHeader('vary') ?? [], 'Authorization, Accept-Encoding'].flat().join(', '),
    });
    const known = request.headers['if-none-match']?.split(',').map((sent) => sent.trim()) ?? [];
    if (known.includes(etag) || known.includes('*')) return void reply.code(304);
    return page;
  }

  @Get('episodes')
  @ApiQuery({
    name: 'guid',
    description: 'The podcast.',
    schema: { type: 'string', format: 'uuid' },
  })
  @Operation(
    'Lists the newest episodes of a subscribed podcast',
    { status: 200, schema: feedEpisodesSchema },
    [404, 405],
  )
  async episodes(@UserId() userId: string, @Req() request: FastifyRequest) {
    const url = new URL(request.url, 'http://localhost');
    const sent = new QueryString(url.search, ['guid']).getAll('guid');
    const guid = guidSchema.safeParse(sent[0]);
    if (sent.length !== 1 || !guid.success) throw new Failure('invalid');
    const { episodes } = await this.services.call(
      listFeedEpisodes,
      request,
      { userId, guid: guid.data },
      { answerBytes: Math.min(mostEpisodes * episodeBytes, this.config.MAX_ANSWER_BYTES) },
    );
    return JsonText.concat('{"episodes":', episodes, '}');
  }

  @Post('refresh')
  @HttpCode(202)
  @Operation('Asks for feeds to be fetched soon', { status: 202, schema: refreshSchema }, [405])
  async refresh(
    @UserId() userId: string,
    @Req() request: FastifyRequest,
    @Body({ schema: refreshSchema }) { guids }: z.output<typeof refreshSchema>,
  ) {
    await this.services.call(refreshFeeds, request, { userId, guids });
    return { guids };
  }
}

/** Returns a positive integer of a query, or 0 for none, or an unusable one. */
function integerOf(query: QueryString, name: string): number {
  const [text = ''] = query.getAll(name);
  const value = /^\d{1,16}$/.test(text) ? Number(text) : 0;
  return Number.isSafeInteger(value) ? value : 0;
}
