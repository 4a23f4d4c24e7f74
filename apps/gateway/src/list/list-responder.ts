import { Inject, Injectable } from '@nestjs/common';
import {
  JsonText,
  type listEpisodes,
  type ListRequest,
  type listSubscriptions,
  type RequestOf,
} from '#contracts';
import { linkBase, Services } from '#http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { CONFIG, episodeBytes, type GatewayConfig } from '../gateway.config.js';
import { Cursors } from './cursor.js';
import { clockInIfNoneMatch, type ListIdentity, listETag } from './etag.js';
import { QueryString } from '../http/query-string.js';
import {
  episodeListParameters,
  listParameters,
  type ListQuery,
  readListQuery,
} from './list-query.js';
import { type LinkedPage, adjacentPagesOf } from './page-links.js';

/** Name of the array in the answer, by the pattern of the list's contract. */
const arrayNames = { 'subscription.list': 'subscriptions', 'episode.list': 'episodes' } as const;
/** Accepted query parameters, by the name of the array in the answer. */
const parametersByArray = { subscriptions: listParameters, episodes: episodeListParameters };

/** Returns the maximum bytes of a page without its rows: two %-encoded links, and numbers. */
const envelopeBytes = (url: URL) => 2 * 3 * url.href.length + 2_048;

/**
 * Answers `GET /subscriptions` and `GET /episodes`: parses the query, calls the service, and adds
 * headers and links (docs/reference/interface.md, "Lists").
 */
@Injectable()
export class ListResponder {
  constructor(
    @Inject(CONFIG) private readonly config: GatewayConfig,
    private readonly services: Services,
    private readonly cursors: Cursors,
  ) {}

  /** Returns a page as JSON; sends 304 if the client already has it. */
  async answer(
    contract: typeof listSubscriptions | typeof listEpisodes,
    userId: string,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<unknown> {
    const array = arrayNames[contract.pattern as keyof typeof arrayNames];
    const url = this.urlOf(request);
    const sent = new QueryString(url.search, parametersByArray[array]);
    const target = { userId, list: array, maxPerPage: this.config.MAX_PER_PAGE };
    const query = readListQuery(sent, target, this.cursors);
    const { since, podcastGuid, page, perPage, cursor, scope, ignored } = query;
    const identity: ListIdentity = {
      userId,
      url: url.href,
      // Hashes only whether the cursor is valid. The URL contains the cursor encrypted, and from
      // a hash of its content clients could guess the row id.
      parameters: [since, podcastGuid, page, perPage, cursor !== undefined],
    };
    const payload: RequestOf<typeof listEpisodes> = {
      userId,
      ...toListRequest(query),
      maxBytes: Math.max(this.config.MAX_ANSWER_BYTES - envelopeBytes(url), 1),
      knownClock: clockInIfNoneMatch(request.headers['if-none-match'], identity),
    };
    const reservedBytes = Math.min(perPage * episodeBytes, this.config.MAX_ANSWER_BYTES);
    const found = await this.services.call(contract, request, payload, { reservedBytes });
    const syncTimestamp = cursor?.syncTimestamp ?? found.clock;
    addListHeaders(reply, listETag(found.clock, identity), syncTimestamp, ignored);
    if (found.unchanged || request.headers['if-none-match']?.trim() === '*')
      return void reply.code(304);
    const { total, items, firstId, lastId, more } = found;
    const range = cursor ? cursor.range : found.span;
    const pages = adjacentPagesOf({
      page,
      perPage,
      cursor,
      total,
      range,
      syncTimestamp,
      firstId,
      lastId,
      more,
    });
    const urlOfPage = (to: LinkedPage) => {
      const start = this.cursors.encode(to.cursor, scope);
      return `${url.origin}${url.pathname}${sent.with({ page: String(to.page), cursor: start })}`;
    };
    const next = pages.next && urlOfPage(pages.next);
    const previous = pages.previous && urlOfPage(pages.previous);
    const envelope = JSON.stringify({ total, page, per_page: perPage, next, previous });
    return JsonText.concat(`${envelope.slice(0, -1)},"${array}":`, items, '}');
  }

  /** Returns the URL of the request, with the origin that links have. */
  private urlOf(request: FastifyRequest): URL {
    return new URL(`${linkBase(request, this.config)}${request.url}`);
  }
}

/** Sets the headers of a list. @param ignored names of the parameters that were ignored. */
export function addListHeaders(
  reply: FastifyReply,
  etag: string,
  syncTimestamp: string,
  ignored: readonly string[],
): void {
  void reply.headers({
    etag,
    'sync-timestamp': syncTimestamp,
    'cache-control': 'private, no-cache',
    vary: [reply.getHeader('vary') ?? [], 'Authorization, Accept-Encoding'].flat().join(', '),
    ...(ignored.length > 0 && { 'ignored-parameters': ignored.join(', ') }),
  });
}

/** Returns the parameters of a query that the service needs. */
function toListRequest({ since, podcastGuid, page, perPage, cursor: sentCursor }: ListQuery) {
  const cursor: ListRequest['cursor'] = sentCursor
    ? { from: sentCursor.direction, id: sentCursor.boundary }
    : { from: 'page', page };
  return { since, podcastGuid, perPage, cursor, total: sentCursor?.total, span: sentCursor?.range };
}
