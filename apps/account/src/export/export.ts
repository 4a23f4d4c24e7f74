import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import { Injectable, type OnModuleDestroy } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { listDeletions, listEpisodes, type ListRequest, listSubscriptions, type ReplyOf } from '#contracts';
import { StreamClient } from '#transport';
import { DataSource } from 'typeorm';
import { AppPasswords } from '../credentials/app-passwords.js';
import { Grants } from '../issuer/grants.js';
import { Refusal } from '../people/refusal.js';
import { Sessions } from '../people/sessions.js';
import { rowsOf } from '../people/statement.rows.js';

/** Items that are read at once; the services end a page earlier where it gets large. */
const perPage = 250;
/** Bytes of JSON that the items of one page take at most, beyond the first one. */
const pageBytes = 1_048_576;
/** Documents that one process makes at the same time, each of another person. */
const mostAtOnce = 8;
/** How long a person may take to fetch one, in milliseconds: fifty megabytes come at 1 Mbit/s. */
const longestMs = 10 * 60_000;
/** When to ask again, in seconds. */
const retrySeconds = 30;
/** The version of the document's form; raised where a reader could not go on as before. */
const format = 1;

/** What is kept of an account, but for what signs in: hashes, sealed secrets, recovery codes. */
const account = `
  SELECT id, name, issuer, subject, email, email_verified_at, created_at, disabled_at,
    password IS NOT NULL AS has_password, totp_confirmed_at AS second_factor_since,
    (SELECT count(*)::int FROM account.recovery_codes c WHERE c.account_id = a.id AND c.used_at IS NULL) AS recovery_codes_left
  FROM account.accounts a WHERE a.id = $1`;

/**
 * What is kept of clients of the gpodder API, as JSON. Of a session not even its id, which is made of a secret. It is a few
 * megabytes at most, by the limits of settings.
 */
const ofClients = `
  SELECT json_build_object(
    'devices', (
      SELECT coalesce(json_agg(json_build_object('id', id, 'caption', caption, 'type', type, 'last_used_at', last_used_at)
        ORDER BY id), '[]')
      FROM account.devices WHERE account_id = $1),
    'settings', (
      SELECT coalesce(json_agg(json_build_object('of', scope, 'id', nullif(subject, ''), 'settings', settings)
        ORDER BY scope, subject), '[]')
      FROM account.settings WHERE account_id = $1),
    'app_sessions', (
      SELECT coalesce(json_agg(json_build_object('app_password', credential_id, 'created_at', created_at,
        'last_used_at', last_used_at, 'ended_at', ended_at) ORDER BY created_at, id), '[]')
      FROM account.gpodder_sessions WHERE account_id = $1)
  )::text AS json`;

/**
 * Everything that is kept of a person, as one JSON document. It is made while it is sent, a page at a time: one page of
 * one list is in memory, however much there is. Each list is of the moments in which its pages were read.
 *
 * Invariants: a process makes one document of a person at a time, eight in all, and each for ten minutes at most.
 */
@Injectable()
export class Export implements OnModuleDestroy {
  /** By account; without a document while that is begun. */
  private readonly running = new Map<string, Readable | undefined>();

  constructor(
    @InjectDataSource() private readonly source: DataSource,
    private readonly client: StreamClient,
    private readonly sessions: Sessions,
    private readonly grants: Grants,
    private readonly appPasswords: AppPasswords,
  ) {}

  /**
   * Begins a document, which fails where it can't go on: what came until then is not valid JSON, so that nobody takes it
   * for everything.
   *
   * @throws Refusal `limited` where the person has one under way, `busy` where others have too many; Failure where not
   *   even the beginning can be made.
   */
  async open(accountId: string): Promise<Readable> {
    if (this.running.has(accountId)) throw new Refusal('limited', retrySeconds);
    if (this.running.size >= mostAtOnce) throw new Refusal('busy', retrySeconds);
    this.running.set(accountId, undefined);
    try {
      const pieces = this.documentOf(accountId);
      const first = await pieces.next();
      const options = { objectMode: false, highWaterMark: 65_536 };
      const document = Readable.from(following(first.value as string, pieces), options);
      const timer = setTimeout(() => document.destroy(new Error('fetching it took too long')), longestMs);
      document.once('close', () => {
        clearTimeout(timer);
        this.running.delete(accountId);
      });
      this.running.set(accountId, document);
      return document;
    } catch (error) {
      this.running.delete(accountId);
      throw error;
    }
  }

  /** Breaks all off: a process that stops does not wait for who reads slowly. */
  onModuleDestroy(): void {
    for (const document of this.running.values()) document?.destroy(new Error('the server stops'));
  }

  /** The document in pieces; the first one goes as far as the first subscriptions. */
  private async *documentOf(accountId: string): AsyncGenerator<string> {
    const [row] = await rowsOf<object>(this.source.manager, account, [accountId]);
    const own = {
      format,
      account: row,
      sessions: (await this.sessions.list(accountId)).map(inSnakeCase),
      apps: (await this.grants.listApps(accountId)).map(inSnakeCase),
      app_passwords: (await this.appPasswords.list(accountId)).map(inSnakeCase),
    };
    const [kept] = await rowsOf<{ json: string }>(this.source.manager, ofClients, [accountId]);
    const subscriptions = separated(this.listed(listSubscriptions, accountId));
    const first = await subscriptions.next();
    yield `${JSON.stringify(own).slice(0, -1)},${kept?.json.slice(1, -1)},"subscriptions":[${first.done ? '' : first.value}`;
    yield* subscriptions;
    yield '],"episodes":[';
    yield* separated(this.listed(listEpisodes, accountId));
    yield '],"deletions":[';
    yield* separated(this.deletions(accountId));
    yield ']}\n';
  }

  /** The items of a list, a page at a time: JSON without brackets. */
  private async *listed(contract: typeof listSubscriptions | typeof listEpisodes, userId: string) {
    let position: ListRequest['position'] = { from: 'page', page: 1 };
    let total: number | undefined;
    for (;;) {
      const request: ListRequest = {
        userId,
        perPage,
        maxBytes: pageBytes,
        position,
        ...(total !== undefined && { total }),
      };
      const page: ReplyOf<typeof listSubscriptions> | ReplyOf<typeof listEpisodes> = await this.client.call(
        contract,
        request,
        { requestId: randomUUID() },
      );
      if (page.unchanged) return;
      yield page.items.toString().slice(1, -1);
      if (!page.more || page.lastId === undefined) return;
      position = { from: 'after', id: page.lastId };
      total = page.total;
    }
  }

  private async *deletions(userId: string) {
    for (let after = 0, more = true; more;) {
      const page = await this.client.call(listDeletions, { userId, after, perPage }, { requestId: randomUUID() });
      yield JSON.stringify(page.deletions).slice(1, -1);
      ({ more } = page);
      after = page.deletions.at(-1)?.deletion_id ?? after;
    }
  }
}

/** With the names that the rest of the document has. */
function inSnakeCase(item: object): Record<string, unknown> {
  const named = (name: string) => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return Object.fromEntries(Object.entries(item).map(([name, value]) => [named(name), value as unknown]));
}

async function* following(first: string, others: AsyncIterable<string>): AsyncGenerator<string> {
  yield first;
  yield* others;
}

/** Pages with commas between those that have something. */
async function* separated(pages: AsyncIterable<string>): AsyncGenerator<string> {
  let isFirst = true;
  for await (const page of pages) {
    if (page === '') continue;
    yield isFirst ? page : `,${page}`;
    isFirst = false;
  }
}
