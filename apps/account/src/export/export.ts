import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import { Injectable, type OnModuleDestroy } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import {
  listDeletions,
  listEpisodes,
  listFormerNames,
  type ListRequest,
  listSubscriptions,
  type ReplyOf,
} from '#contracts';
import { networkOf } from '#identity';
import { StreamClient } from '#transport';
import { DataSource } from 'typeorm';
import { AppPasswords } from '../credentials/app-passwords.js';
import { Grants } from '../issuer/grants.js';
import { Refusal } from '../people/refusal.js';
import { Sessions } from '../people/sessions.js';
import { queryRows } from '../people/query-rows.js';

/** Maximum number of items per page. Pages with large items have fewer ({@link maxPageBytes}). */
const itemsPerPage = 250;
/** Maximum bytes of JSON per page. The first item of a page can exceed it. */
const maxPageBytes = 1_048_576;
/**
 * Maximum number of concurrent exports per process. A further one aborts the oldest download of the
 * network with the most exports, or is refused if no download has started.
 */
const maxConcurrentExports = 8;
/**
 * Maximum duration of an export's download in milliseconds, enough for 50 MB at 1 Mbit/s. Then the
 * download is aborted.
 */
const maxDownloadMs = 10 * 60_000;
const retryAfterSeconds = 30;
/** Version of the exported document's format; increased by incompatible changes. */
const formatVersion = 1;

/** SQL of the account's row, without password hash, TOTP secret and recovery codes. */
const selectAccountRow = `
  SELECT id, name, issuer, subject, email, email_verified_at, created_at, signed_in_at, disabled_at,
    is_administrator, password IS NOT NULL AS has_password,
    totp_confirmed_at AS second_factor_since,
    (SELECT count(*)::int FROM account.recovery_codes c
     WHERE c.account_id = a.id AND c.used_at IS NULL) AS recovery_codes_left
  FROM account.accounts a WHERE a.id = $1`;

/** Returns SQL for a JSON array of the rows of a SELECT. */
const toJsonArray = (select: string) =>
  `(SELECT coalesce(json_agg(item), '[]') FROM (SELECT ${select}) item)`;

/**
 * SQL of valid links, approved login flows, notices, passkeys and data of gpodder clients, as one
 * JSON text. Limits per account keep the text at a few megabytes. It omits the ids of gpodder
 * sessions, because they derive from a secret.
 */
const selectAccountData = `
  SELECT json_build_object(
    'links', ${toJsonArray(`kind, email, created_at, expires_at FROM account.links
      WHERE account_id = $1 AND expires_at > now() ORDER BY created_at`)},
    'login_flows', ${toJsonArray(`user_agent AS app, address, server, created_at, expires_at,
        credential_id AS app_password
      FROM account.logins WHERE account_id = $1 AND expires_at > now() ORDER BY created_at`)},
    'notices', ${toJsonArray(`created_at, kind, label, address, user_agent FROM account.notices
      WHERE account_id = $1 ORDER BY created_at, id`)},
    'passkeys', ${toJsonArray(`label, transports, created_at, last_used_at, suspended_at
      FROM account.passkeys WHERE account_id = $1 ORDER BY created_at, id`)},
    'devices', ${toJsonArray(`id, caption, type, credential_id AS app_password, last_used_at
      FROM account.devices WHERE account_id = $1 ORDER BY id`)},
    'settings', ${toJsonArray(`scope AS of, nullif(subject, '') AS id, settings
      FROM account.settings WHERE account_id = $1 ORDER BY scope, subject`)},
    'app_sessions', ${toJsonArray(`credential_id AS app_password, created_at, last_used_at, ended_at
      FROM account.gpodder_sessions WHERE account_id = $1 ORDER BY created_at, id`)}
  )::text AS json`;

/** An export in progress: its beginning is being read, or a client is downloading it. */
interface RunningExport {
  /** Network of the IP address of the downloading client. */
  readonly network: string;
  /** The JSON stream; undefined while its beginning is being read. */
  readonly document?: Readable;
}

/**
 * Exports all data of a person as a JSON document. To save memory, an export reads one page of a
 * list at a time, so the pages reflect different times.
 *
 * Invariants: a process runs one export per person at a time, eight in total, each for at most 10
 * minutes. A ninth export aborts the oldest download of the network with the most exports.
 */
@Injectable()
export class Export implements OnModuleDestroy {
  /** Exports in progress by account, oldest first. */
  private readonly runningExports = new Map<string, RunningExport>();

  constructor(
    @InjectDataSource() private readonly source: DataSource,
    private readonly client: StreamClient,
    private readonly sessions: Sessions,
    private readonly grants: Grants,
    private readonly appPasswords: AppPasswords,
  ) {}

  /**
   * Starts an export, and reads the beginning of its document. A later failure truncates the
   * document, so that it is not valid JSON.
   *
   * @param address IP address of the client.
   * @throws Refusal `limited` if an export of the person is in progress, `busy` if eight others
   *   start at the same time; Failure if the beginning cannot be read.
   */
  async openDocument(accountId: string, address: string): Promise<Readable> {
    if (this.runningExports.has(accountId))
      throw new Refusal('limited', retryAfterSeconds, 'export');
    if (this.runningExports.size >= maxConcurrentExports && !this.abortOldest())
      throw new Refusal('busy', retryAfterSeconds);
    const network = networkOf(address);
    this.runningExports.set(accountId, { network });
    try {
      const pieces = this.writeDocument(accountId);
      const firstPiece = await pieces.next();
      const options = { objectMode: false, highWaterMark: 65_536 };
      const document = Readable.from(prependText(firstPiece.value as string, pieces), options);
      const timer = setTimeout(
        () => document.destroy(new Error('aborted: download timeout')),
        maxDownloadMs,
      );
      document.once('close', () => {
        clearTimeout(timer);
        // Otherwise the entry belongs to a later export of the same account.
        if (this.runningExports.get(accountId)?.document === document)
          this.runningExports.delete(accountId);
      });
      this.runningExports.set(accountId, { network, document });
      return document;
    } catch (error) {
      this.runningExports.delete(accountId);
      throw error;
    }
  }

  /** Aborts all exports, so that slow downloads do not delay shutdown. */
  onModuleDestroy(): void {
    for (const { document } of this.runningExports.values())
      document?.destroy(new Error('aborted: server shutdown'));
  }

  /**
   * Aborts the oldest download of the network with the most exports.
   *
   * @returns false if there is no download yet: exports that read their beginning are not aborted.
   */
  private abortOldest(): boolean {
    const exportEntries = [...this.runningExports];
    const countExports = (ofNetwork: string) =>
      exportEntries.filter(([, { network }]) => network === ofNetwork).length;
    const [oldestDownload] = exportEntries
      .filter(([, { document }]) => document !== undefined)
      .toSorted(([, one], [, other]) => countExports(other.network) - countExports(one.network));
    if (!oldestDownload) return false;
    const [accountId, { document }] = oldestDownload;
    this.runningExports.delete(accountId);
    document?.destroy(new Error('aborted: limit of concurrent exports reached'));
    return true;
  }

  /** Yields the exported document in pieces. The first one includes a page of subscriptions. */
  private async *writeDocument(accountId: string): AsyncGenerator<string> {
    const [accountRow] = await queryRows<object>(this.source.manager, selectAccountRow, [
      accountId,
    ]);
    const profile = {
      format: formatVersion,
      account: accountRow,
      sessions: (await this.sessions.listValid(accountId)).map(toSnakeCase),
      apps: (await this.grants.listApps(accountId)).map(toSnakeCase),
      app_passwords: (await this.appPasswords.list(accountId)).map(toSnakeCase),
    };
    const [details] = await queryRows<{ json: string }>(this.source.manager, selectAccountData, [
      accountId,
    ]);
    const subscriptions = joinPages(this.readList(listSubscriptions, accountId));
    const firstPage = await subscriptions.next();
    yield `${JSON.stringify(profile).slice(0, -1)},${details?.json.slice(1, -1)},"subscriptions":[`;
    yield firstPage.done ? '' : firstPage.value;
    yield* subscriptions;
    yield '],"former_feed_urls":[';
    yield* joinPages(this.readFormerIdentifiers('feed_url', accountId));
    yield '],"former_guids":[';
    yield* joinPages(this.readFormerIdentifiers('guid', accountId));
    yield '],"episodes":[';
    yield* joinPages(this.readList(listEpisodes, accountId));
    yield '],"deletions":[';
    yield* joinPages(this.readDeletions(accountId));
    yield ']}\n';
  }

  /** Yields the items of a list by page, as JSON without brackets. */
  private async *readList(
    contract: typeof listSubscriptions | typeof listEpisodes,
    userId: string,
  ) {
    let cursor: ListRequest['cursor'] = { from: 'page', page: 1 };
    let total: number | undefined;
    for (;;) {
      const request: ListRequest = {
        userId,
        perPage: itemsPerPage,
        maxBytes: maxPageBytes,
        cursor,
        ...(total !== undefined && { total }),
      };
      const page: ReplyOf<typeof listSubscriptions> | ReplyOf<typeof listEpisodes> =
        await this.client.call(contract, request, { requestId: randomUUID() });
      if (page.unchanged) return;
      yield page.items.toString().slice(1, -1);
      if (!page.more || page.lastId === undefined) return;
      cursor = { from: 'after', id: page.lastId };
      total = page.total;
    }
  }

  /** Yields former feed URLs or guids with the current guid of their subscription, by page. */
  private async *readFormerIdentifiers(kind: 'feed_url' | 'guid', userId: string) {
    let after: string | undefined;
    do {
      const request = { userId, kind, ...(after !== undefined && { after }) };
      const page = await this.client.call(listFormerNames, request, { requestId: randomUUID() });
      const items = page.names.map(({ name, guid }) => ({ [`former_${kind}`]: name, guid }));
      yield JSON.stringify(items).slice(1, -1);
      after = page.next;
    } while (after !== undefined);
  }

  private async *readDeletions(userId: string) {
    for (let after = 0, more = true; more;) {
      const page = await this.client.call(
        listDeletions,
        { userId, after, perPage: itemsPerPage },
        { requestId: randomUUID() },
      );
      yield JSON.stringify(page.deletions).slice(1, -1);
      ({ more } = page);
      after = page.deletions.at(-1)?.deletion_id ?? after;
    }
  }
}

function toSnakeCase(item: object): Record<string, unknown> {
  const toSnakeCaseName = (name: string) =>
    name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return Object.fromEntries(
    Object.entries(item).map(([name, value]) => [toSnakeCaseName(name), value as unknown]),
  );
}

async function* prependText(start: string, others: AsyncIterable<string>): AsyncGenerator<string> {
  yield start;
  yield* others;
}

/** Puts a comma between pages that are not empty. */
async function* joinPages(pages: AsyncIterable<string>): AsyncGenerator<string> {
  let isFirst = true;
  for await (const page of pages) {
    if (page === '') continue;
    yield isFirst ? page : `,${page}`;
    isFirst = false;
  }
}
