import { hash } from 'node:crypto';
import { Body, Controller, Get, Inject, Param, Post, Req, Res } from '@nestjs/common';
import { ApiOperation, ApiQuery, ApiResponse, ApiTags } from '@nestjs/swagger';
import {
  Failure,
  guidSchema,
  JsonText,
  listFeedEpisodes,
  listNewEpisodes,
  listPodcasts,
  maxPodcasts,
  feedPreviewSchema,
  maxPushed,
  previewFeed,
  pushedSchema,
  pushFeeds,
  readArtwork,
  refreshFeeds,
} from '#contracts';
import { AuthenticationFailure, linkBase, sentBatch, Services } from '#http';
import { RateCounter } from '#identity';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { z } from 'zod';
import { UserId } from '../http/server.options.js';
import { CONFIG, type GatewayConfig } from '../gateway.config.js';
import { QueryString } from '../http/query.string.js';
import { type Cursor, Cursors } from '../list/cursor.js';
import { type ListIdentity, pageETag, versionsInIfNoneMatch } from '../list/etag.js';
import { listParameters, type ListQuery, readListQuery } from '../list/list.query.js';
import { addListHeaders } from '../list/list.responder.js';
import { ApiSince, Operation } from '../openapi.decorators.js';
import { errorSchema } from '../wire.schemas.js';
import {
  feedEpisodesSchema,
  podcastPageSchema,
  previewSchema,
  type PushRequest,
  pushSchema,
  refreshSchema,
} from './feed.schemas.js';

/** Approximate maximum bytes of a podcast, and of an episode, in an answer. */
const [podcastBytes, episodeBytes] = [16_384, 16_384];
/** Maximum number of episodes that the feed service stores of a podcast. */
const maxEpisodes = 100;

/** Permission to write the content of feeds for all users. */
const pushScope = 'write:feeds';

/** Headers of a picture: it never changes, other sites can embed it, and it runs no script. */
const artworkHeaders = {
  'cache-control': 'public, max-age=31536000, immutable',
  'content-security-policy': "default-src 'none'; sandbox",
  'cross-origin-resource-policy': 'cross-origin',
};

/** The query of a request, the name of the array in its answer, and the encoder of its cursors. */
interface Read {
  readonly array: 'feeds' | 'episodes';
  /** The base URL of links. */
  readonly base: string;
  readonly url: URL;
  readonly sent: QueryString;
  readonly query: ListQuery;
  readonly identity: ListIdentity;
  /** Versions of the page that the client has. */
  readonly versions: readonly string[];
  readonly encode: (cursor: Cursor) => string;
}

/** Serves /feeds (docs/reference/interface-feeds.md); absent with FEEDS=off. */
@ApiTags('Feeds')
@Controller('feeds')
export class FeedController {
  private readonly previews = new RateCounter(20);

  constructor(
    private readonly services: Services,
    private readonly cursors: Cursors,
    @Inject(CONFIG) private readonly config: GatewayConfig,
  ) {}

  private read(request: FastifyRequest, userId: string, array: Read['array']): Read {
    const list = `feeds ${array}`;
    const base = linkBase(request, this.config);
    const url = new URL(`${base}${request.url}`);
    const sent = new QueryString(url.search, listParameters);
    const query = readListQuery(sent, { userId, list, maxPerPage: maxPodcasts }, this.cursors);
    const { since, perPage, cursor, scope } = query;
    const effective = [since, perPage, cursor !== undefined];
    const identity = { userId, url: url.href, effective };
    return {
      array,
      base,
      url,
      sent,
      query,
      identity,
      versions: versionsInIfNoneMatch(request.headers['if-none-match'], identity),
      encode: (one) => this.cursors.encode(one, scope),
    };
  }

  @Get()
  @ApiSince()
  @ApiQuery({
    name: 'per_page',
    required: false,
    description: `Rows on a page, 50 unless sent, clamped to ${maxPodcasts}.`,
    schema: { type: 'integer', minimum: 1 },
  })
  @Operation('Lists the subscribed podcasts as their publishers describe them', podcastPageSchema)
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
      {
        userId,
        after: cursor?.boundary ?? 0,
        perPage,
        since,
        artworkUrl: `${read.base}/feeds/artwork/`,
        versions: [...read.versions],
      },
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
  @ApiSince()
  @Operation(
    'Lists the newest episodes of one subscribed podcast, or new episodes of all',
    feedEpisodesSchema,
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
    // The version covers the cursor with a constant time, because the time of the first page must
    // not change it. The cursor is encrypted: from a hash of its row id clients could guess the id.
    const next = found.next && cursorTo(read, found.next, new Date(0).toISOString());
    const version = hash('sha256', `${next} ${found.episodes.text}`).slice(0, 24);
    return answerPage(read, {}, found.episodes, { ...found, version }, request, reply);
  }

  @Get('artwork/:id')
  @ApiOperation({ summary: 'Returns the picture of a podcast. Needs no credential' })
  @ApiResponse({
    status: 200,
    description: 'Success',
    content: { 'image/webp': { schema: { type: 'string', format: 'binary' } } },
  })
  @ApiResponse({ status: 404, description: 'No such picture.', standardSchema: errorSchema })
  async artwork(
    @Param('id') id: string,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    const parsed = guidSchema.safeParse(id);
    if (!parsed.success) throw new Failure('not_found');
    const { webp } = await this.services.call(readArtwork, request, { id: parsed.data });
    void reply.type('image/webp').headers(artworkHeaders);
    return Buffer.from(webp, 'base64');
  }

  @Post()
  @Operation(
    'Stores the content of feeds from the catalogue of a platform (scope `write:feeds`)',
    pushedSchema,
    [405],
  )
  push(@Req() request: FastifyRequest, @Body({ schema: pushSchema }) sent: PushRequest) {
    // All users see this content. A token without scope claims, which allows everything else, does
    // not suffice.
    if (!request.caller?.scopes?.has(pushScope))
      throw new AuthenticationFailure('scope', {}, pushScope);
    const body = sentBatch(request, sent.feeds, maxPushed);
    return this.services.call(pushFeeds, request, { body });
  }

  @Post('preview')
  @Operation('Fetches a feed, to show it before a subscription', feedPreviewSchema, [404, 405])
  async preview(
    @UserId() userId: string,
    @Req() request: FastifyRequest,
    @Body({ schema: previewSchema }) { feed_url: feedUrl }: z.output<typeof previewSchema>,
  ) {
    if (this.config.FEEDS !== 'fetched') throw new Failure('not_found');
    this.previews.consume(userId);
    return this.services.call(previewFeed, request, { feedUrl });
  }

  @Post('refresh')
  @Operation('Asks for feeds to be fetched soon', refreshSchema, [405], { status: 202 })
  async refresh(
    @UserId() userId: string,
    @Req() request: FastifyRequest,
    @Body({ schema: refreshSchema }) { guids }: z.output<typeof refreshSchema>,
  ) {
    await this.services.call(refreshFeeds, request, { userId, guids });
    return { guids };
  }
}

/** Returns the cursor of the page after a row. @param time `Sync-Timestamp` of the first page. */
function cursorTo({ encode }: Read, boundary: number, time: string): string {
  return encode({ direction: 'after', boundary, syncTimestamp: time, total: 0 });
}

/**
 * Returns a page with its `next` link and sets its headers: `Sync-Timestamp`, a weak `ETag`. Sends
 * 304 if the client already has the page.
 */
function answerPage(
  read: Read,
  envelope: Readonly<Record<string, number>>,
  rows: JsonText,
  found: { version: string; next?: number | undefined; syncTimestamp: string },
  request: FastifyRequest,
  reply: FastifyReply,
) {
  const { array, url, sent, query, identity, versions } = read;
  const start = query.cursor?.syncTimestamp ?? found.syncTimestamp;
  addListHeaders(reply, pageETag(found.version, identity), start, query.ignored);
  const isKnown =
    versions.includes(found.version) || request.headers['if-none-match']?.trim() === '*';
  if (isKnown) return void reply.code(304);
  const cursor = found.next && cursorTo(read, found.next, start);
  const link = cursor && `${url.origin}${url.pathname}${sent.with({ cursor })}`;
  const head = JSON.stringify({ ...envelope, next: link }).slice(0, -1);
  return JsonText.concat(`${head}${head === '{' ? '' : ','}"${array}":`, rows, '}');
}
