import { hash } from 'node:crypto';
import {
  applyDecorators,
  Body,
  Controller,
  Get,
  HttpCode,
  Inject,
  Post,
  Req,
  Res,
} from '@nestjs/common';
import { ApiQuery, ApiResponse, ApiTags } from '@nestjs/swagger';
import {
  Failure,
  guidSchema,
  JsonText,
  listFeedEpisodes,
  listNewEpisodes,
  listPodcasts,
  maxPodcasts,
  maxPushed,
  pushedSchema,
  pushFeeds,
  refreshFeeds,
} from '#contracts';
import { AuthenticationFailure, linkBase, sentBatch, Services } from '#http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { z } from 'zod';
import { UserId } from '../auth/request.user.js';
import { CONFIG, type GatewayConfig } from '../gateway.config.js';
import { QueryString } from '../http/query.string.js';
import { type CursorScope, encodeCursor } from '../list/cursor.js';
import { listParameters, type ListQuery, readListQuery } from '../list/list.query.js';
import { Operation } from '../openapi.decorators.js';
import {
  feedEpisodesSchema,
  podcastPageSchema,
  type PushRequest,
  pushSchema,
  refreshSchema,
} from './feed.schemas.js';

/** Approximate maximum bytes of a podcast, and of an episode, in an answer. */
const [podcastBytes, episodeBytes] = [16_384, 16_384];
/** Maximum number of episodes of a podcast. */
const maxEpisodes = 100;

/** Permission to write the content of feeds for all users. */
const pushScope = 'write:feeds';

/** The query of a request, the name of the array in its answer, and the scope of its cursors. */
interface Read {
  readonly array: 'feeds' | 'episodes';
  readonly url: URL;
  readonly sent: QueryString;
  readonly query: ListQuery;
  readonly scope: CursorScope;
}

/** Describes `since`, `cursor` and conditional requests. */
const Since = () =>
  applyDecorators(
    ApiQuery({
      name: 'since',
      required: false,
      description: 'Only later changes: the `Sync-Timestamp` of an earlier answer.',
      schema: { type: 'string', format: 'date-time' },
    }),
    ApiQuery({
      name: 'cursor',
      required: false,
      description: 'From the link of a page.',
      schema: { type: 'string' },
    }),
    ApiResponse({ status: 304, description: 'Nothing changed.' }),
  );

/** /feeds (docs/reference/interface-feeds.md). They do not exist with FEEDS=off. */
@ApiTags('Feeds')
@Controller('feeds')
export class FeedController {
  constructor(
    private readonly services: Services,
    @Inject(CONFIG) private readonly config: GatewayConfig,
  ) {}

  private read(request: FastifyRequest, userId: string, array: Read['array']): Read {
    const list = `feeds ${array}`;
    const url = new URL(`${linkBase(request, this.config)}${request.url}`);
    const sent = new QueryString(url.search, listParameters);
    const query = readListQuery(sent, { userId, list, maxPerPage: maxPodcasts });
    return { array, url, sent, query, scope: { userId, list, since: query.since } };
  }

  @Get()
  @Since()
  @ApiQuery({
    name: 'per_page',
    required: false,
    description: `Rows on a page, 50 unless sent, clamped to ${maxPodcasts}.`,
    schema: { type: 'integer', minimum: 1 },
  })
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
    const read = this.read(request, userId, 'feeds');
    const { perPage, since, cursor } = read.query;
    const found = await this.services.call(
      listPodcasts,
      request,
      { userId, after: cursor?.boundary ?? 0, perPage, since },
      { answerBytes: Math.min(perPage * podcastBytes, this.config.MAX_ANSWER_BYTES) },
    );
    return answerPage(read, { per_page: perPage }, found.feeds, found, request, reply);
  }

  @Get('episodes')
  @ApiQuery({
    name: 'guid',
    required: false,
    description:
      'Guid of a subscribed podcast; `since` and `cursor` are then ignored. Without `guid`, ' +
      '`since` is required.',
    schema: { type: 'string', format: 'uuid' },
  })
  @Since()
  @Operation(
    'Lists the newest episodes of one subscribed podcast, or new ones of all',
    { status: 200, schema: feedEpisodesSchema },
    [404, 405],
  )
  async episodes(
    @UserId() userId: string,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    const answerBytes = Math.min(maxEpisodes * episodeBytes, this.config.MAX_ANSWER_BYTES);
    const sent = new QueryString(new URL(request.url, 'http://localhost').search, ['guid']);
    const guids = sent.getAll('guid');
    if (guids.length > 0) {
      const guid = guidSchema.safeParse(guids[0]);
      if (guids.length !== 1 || !guid.success) throw new Failure('invalid');
      const one = { userId, guid: guid.data };
      const { episodes } = await this.services.call(listFeedEpisodes, request, one, {
        answerBytes,
      });
      return JsonText.concat('{"episodes":', episodes, '}');
    }
    const read = this.read(request, userId, 'episodes');
    const { since, cursor } = read.query;
    if (since === undefined) throw new Failure('invalid');
    const found = await this.services.call(
      listNewEpisodes,
      request,
      { userId, after: cursor?.boundary ?? 0, since },
      { answerBytes },
    );
    return answerPage(read, {}, found.episodes, found, request, reply);
  }

  @Post()
  @HttpCode(200)
  @Operation(
    'Stores the content of feeds from the catalogue of a platform (scope `write:feeds`)',
    { status: 200, schema: pushedSchema },
    [405],
  )
  push(@Req() request: FastifyRequest, @Body({ schema: pushSchema }) sent: PushRequest) {
    // The content is shown to all users: a token without scopes does not allow this.
    if (!request.caller?.scopes?.has(pushScope))
      throw new AuthenticationFailure('scope', {}, pushScope);
    const body = sentBatch(request, sent.feeds, maxPushed);
    return this.services.call(pushFeeds, request, { body });
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

/** Returns a page with its link, `Sync-Timestamp` and a weak `ETag` of its text. */
function answerPage(
  { array, url, sent, query, scope }: Read,
  envelope: Readonly<Record<string, number>>,
  rows: JsonText,
  { next, syncTimestamp }: { next?: number | undefined; syncTimestamp: string },
  request: FastifyRequest,
  reply: FastifyReply,
) {
  const walk = { syncTimestamp: query.cursor?.syncTimestamp ?? syncTimestamp, total: 0 };
  const cursor = next && encodeCursor({ direction: 'after', boundary: next, ...walk }, scope);
  // The cursor contains the time of the first page, which must not change the ETag.
  const print = JSON.stringify([url.href, next]);
  const link = cursor && `${url.origin}${url.pathname}${sent.with({ cursor })}`;
  const start = JSON.stringify({ ...envelope, next: link }).slice(0, -1);
  const page = JsonText.concat(`${start}${start === '{' ? '' : ','}"${array}":`, rows, '}');
  const etag = `W/"${hash('sha256', print + rows.text, 'base64url').slice(0, 22)}"`;
  void reply.headers({
    etag,
    'sync-timestamp': walk.syncTimestamp,
    'cache-control': 'private, no-cache',
    vary: [reply.getHeader('vary') ?? [], 'Authorization, Accept-Encoding'].flat().join(', '),
    ...(query.ignored.length > 0 && { 'ignored-parameters': query.ignored.join(', ') }),
  });
  const known = request.headers['if-none-match']?.split(',').map((one) => one.trim()) ?? [];
  if (known.includes(etag) || known.includes('*')) return void reply.code(304);
  return page;
}
