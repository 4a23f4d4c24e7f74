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
const estimateEnvelopeBytes = (url: URL) => 2 * 3 * url.href.length + 2_048;

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

  /** Returns a page as JSON; sends 304 if the client already has the page. */
  async answer(
    contract: typeof listSubscriptions | typeof listEpisodes,
    userId: string,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<unknown> {
    const arrayName = arrayNames[contract.pattern as keyof typeof arrayNames];
    const url = this.buildUrl(request);
    const queryString = new QueryString(url.search, parametersByArray[arrayName]);
    const listOptions = { userId, list: arrayName, maxPerPage: this.config.MAX_PER_PAGE };
    const query = readListQuery(queryString, listOptions, this.cursors);
    const { since, podcastGuid, page, perPage, cursor, scope, ignored } = query;
    const identity: ListIdentity = {
      userId,
      url: url.href,
      // Contains only whether the cursor is valid. From a hash of its content, clients could guess
      // the row id. The URL contains the encrypted cursor.
      parameters: [since, podcastGuid, page, perPage, cursor !== undefined],
    };
    const payload: RequestOf<typeof listEpisodes> = {
      userId,
      ...toListRequest(query),
      maxBytes: Math.max(this.config.MAX_ANSWER_BYTES - estimateEnvelopeBytes(url), 1),
      knownClock: clockInIfNoneMatch(request.headers['if-none-match'], identity),
    };
    const reservedBytes = Math.min(perPage * episodeBytes, this.config.MAX_ANSWER_BYTES);
    const listReply = await this.services.call(contract, request, payload, { reservedBytes });
    const syncTimestamp = cursor?.syncTimestamp ?? listReply.clock;
    addListHeaders(reply, listETag(listReply.clock, identity), syncTimestamp, ignored);
    if (listReply.unchanged || request.headers['if-none-match']?.trim() === '*')
      return void reply.code(304);
    const { total, items, firstId, lastId, more } = listReply;
    const range = cursor ? cursor.range : listReply.span;
    const adjacentPages = adjacentPagesOf({
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
    const linkTo = (linked: LinkedPage) => {
      const encodedCursor = this.cursors.encode(linked.cursor, scope);
      const linkParameters = { page: String(linked.page), cursor: encodedCursor };
      return `${url.origin}${url.pathname}${queryString.with(linkParameters)}`;
    };
    const next = adjacentPages.next && linkTo(adjacentPages.next);
    const previous = adjacentPages.previous && linkTo(adjacentPages.previous);
    const envelope = JSON.stringify({ total, page, per_page: perPage, next, previous });
    return JsonText.concat(`${envelope.slice(0, -1)},"${arrayName}":`, items, '}');
  }

  /** Returns the URL of the request, with the origin of the links in answers. */
  private buildUrl(request: FastifyRequest): URL {
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

/** Converts a query to the fields of the request to the service. */
function toListRequest({ since, podcastGuid, page, perPage, cursor: sentCursor }: ListQuery) {
  const cursor: ListRequest['cursor'] = sentCursor
    ? { from: sentCursor.direction, id: sentCursor.boundary }
    : { from: 'page', page };
  return { since, podcastGuid, perPage, cursor, total: sentCursor?.total, span: sentCursor?.range };
}
