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
  maxFeedsPerPush,
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
import { UserId } from '../http/server-options.js';
import { CONFIG, type GatewayConfig } from '../gateway.config.js';
import { QueryString } from '../http/query-string.js';
import { type Cursor, Cursors } from '../list/cursor.js';
import { type ListIdentity, pageETag, versionsInIfNoneMatch } from '../list/etag.js';
import { listParameters, type ListQuery, readListQuery } from '../list/list-query.js';
import { addListHeaders } from '../list/list-responder.js';
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

/** Approximate maximum bytes of one podcast, and of one episode, in an answer. */
const [maxPodcastBytes, maxEpisodeBytes] = [16_384, 16_384];
/** Maximum number of episodes of one podcast that the feed service stores. */
const maxEpisodes = 100;

/** Scope of a token that is allowed to write the content of feeds, which all users see. */
const pushScope = 'write:feeds';

/** Headers of a picture: it never changes, other sites can embed it, and it runs no script. */
const artworkHeaders = {
  'cache-control': 'public, max-age=31536000, immutable',
  'content-security-policy': "default-src 'none'; sandbox",
  'cross-origin-resource-policy': 'cross-origin',
};

/** A parsed request for a list of podcasts or episodes. */
interface FeedListRequest {
  /** Name of the array in the answer. */
  readonly array: 'feeds' | 'episodes';
  /** URL of this API as the client sees it, for URLs in the answer (`linkBase`). */
  readonly base: string;
  readonly url: URL;
  readonly queryString: QueryString;
  readonly query: ListQuery;
  readonly identity: ListIdentity;
  /** Versions of the page that the client has, from `If-None-Match`. */
  readonly versions: readonly string[];
  readonly encodeCursor: (cursor: Cursor) => string;
}

/** Serves /feeds (docs/reference/interface-feeds.md); absent with FEEDS=off. */
@ApiTags('Feeds')
@Controller('feeds')
export class FeedController {
  /** Limits each user to 20 previews per minute. */
  private readonly previewCounter = new RateCounter(20);

  constructor(
    private readonly services: Services,
    private readonly cursors: Cursors,
    @Inject(CONFIG) private readonly config: GatewayConfig,
  ) {}

  /** Parses the query of a list request. */
  private parseRequest(
    request: FastifyRequest,
    userId: string,
    array: FeedListRequest['array'],
  ): FeedListRequest {
    const listName = `feeds ${array}`;
    const base = linkBase(request, this.config);
    const url = new URL(`${base}${request.url}`);
    const queryString = new QueryString(url.search, listParameters);
    const query = readListQuery(
      queryString,
      { userId, list: listName, maxPerPage: maxPodcasts },
      this.cursors,
    );
    const { since, perPage, cursor, scope } = query;
    const parameters = [since, perPage, cursor !== undefined];
    const identity = { userId, url: url.href, parameters };
    return {
      array,
      base,
      url,
      queryString,
      query,
      identity,
      versions: versionsInIfNoneMatch(request.headers['if-none-match'], identity),
      encodeCursor: (linked) => this.cursors.encode(linked, scope),
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
    const parsed = this.parseRequest(request, userId, 'feeds');
    const { perPage, since, cursor } = parsed.query;
    const page = await this.services.call(
      listPodcasts,
      request,
      {
        userId,
        after: cursor?.boundary ?? 0,
        perPage,
        since,
        artworkUrl: `${parsed.base}/feeds/artwork/`,
        versions: [...parsed.versions],
      },
      { reservedBytes: Math.min(perPage * maxPodcastBytes, this.config.MAX_ANSWER_BYTES) },
    );
    return answerPage(parsed, { per_page: perPage }, page.feeds, page, request, reply);
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
    const reservedBytes = Math.min(maxEpisodes * maxEpisodeBytes, this.config.MAX_ANSWER_BYTES);
    const { search } = new URL(request.url, 'http://localhost');
    const guids = new QueryString(search, ['guid']).getAll('guid');
    if (guids.length > 0) {
      const guid = guidSchema.safeParse(guids[0]);
      if (guids.length !== 1 || !guid.success) throw new Failure('invalid');
      const podcast = { userId, guid: guid.data };
      const { episodes } = await this.services.call(listFeedEpisodes, request, podcast, {
        reservedBytes,
      });
      return JsonText.concat('{"episodes":', episodes, '}');
    }
    const parsed = this.parseRequest(request, userId, 'episodes');
    const { since, cursor } = parsed.query;
    if (since === undefined) throw new Failure('invalid');
    const page = await this.services.call(
      listNewEpisodes,
      request,
      { userId, after: cursor?.boundary ?? 0, since },
      { reservedBytes },
    );
    // The version is a hash of the rows and of the next cursor. For the hash, the cursor has a
    // constant time, because the version must not depend on the time of the first page. The hash
    // is of the encrypted cursor, because clients could guess a row id from a hash of the id.
    const nextCursor = page.next && encodeCursorAfter(parsed, page.next, new Date(0).toISOString());
    const version = hash('sha256', `${nextCursor} ${page.episodes.text}`).slice(0, 24);
    return answerPage(parsed, {}, page.episodes, { ...page, version }, request, reply);
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
    const parsedId = guidSchema.safeParse(id);
    if (!parsedId.success) throw new Failure('not_found');
    const { webp } = await this.services.call(readArtwork, request, { id: parsedId.data });
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
    // All users see this content, so the token must name the scope. A token without scope claims
    // allows everything else, but is rejected here.
    if (!request.caller?.scopes?.has(pushScope))
      throw new AuthenticationFailure('scope', {}, pushScope);
    const body = sentBatch(request, sent.feeds, maxFeedsPerPush);
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
    this.previewCounter.consume(userId);
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

/**
 * Returns the cursor of the page after a row.
 *
 * @param boundary id of the row.
 * @param syncTimestamp `Sync-Timestamp` of the first page.
 */
function encodeCursorAfter(
  { encodeCursor }: FeedListRequest,
  boundary: number,
  syncTimestamp: string,
): string {
  return encodeCursor({ direction: 'after', boundary, syncTimestamp, total: 0 });
}

/**
 * Returns a page with its `next` link and sets its headers: `Sync-Timestamp`, a weak `ETag`. Sends
 * 304 if the client already has the page.
 */
function answerPage(
  parsed: FeedListRequest,
  envelope: Readonly<Record<string, number>>,
  rows: JsonText,
  page: { version: string; next?: number | undefined; syncTimestamp: string },
  request: FastifyRequest,
  reply: FastifyReply,
) {
  const { array, url, queryString, query, identity, versions } = parsed;
  const syncTimestamp = query.cursor?.syncTimestamp ?? page.syncTimestamp;
  addListHeaders(reply, pageETag(page.version, identity), syncTimestamp, query.ignored);
  const clientHasPage =
    versions.includes(page.version) || request.headers['if-none-match']?.trim() === '*';
  if (clientHasPage) return void reply.code(304);
  const cursor = page.next && encodeCursorAfter(parsed, page.next, syncTimestamp);
  const nextLink = cursor && `${url.origin}${url.pathname}${queryString.with({ cursor })}`;
  const envelopeStart = JSON.stringify({ ...envelope, next: nextLink }).slice(0, -1);
  return JsonText.concat(
    `${envelopeStart}${envelopeStart === '{' ? '' : ','}"${array}":`,
    rows,
    '}',
  );
}
