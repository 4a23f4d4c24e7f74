import { BadRequestException } from '@nestjs/common';
import { isPlainText } from '#contracts';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Account } from '../people/accounts.js';
import { Refusal } from '../people/refusal.js';
import type { Seal } from '../people/seal.js';
import type { Browser, Session } from '../people/sessions.js';
import type { SignInResult } from '../people/sign-in.js';
import type { Cookies } from './cookies.js';
import { createVisit, type Page, renderDocument, type Visit } from './document.js';
import { type Problems, problemTextsOf } from './refusal-texts.js';
import { siteAssets } from './site-assets.js';
import type { FormResult } from './views/message.view.js';

/**
 * Path that opens after a sign-in: the console, or the account page if the console is not built.
 * Without scripts, the console redirects to the account page (apps/console/index.html).
 */
export const startPath = siteAssets ? '/console/' : '/account';

/** Path of the page on which a person chooses which suspended app passwords to keep. */
export const keepAppPasswordsPath = '/app-passwords/keep';

const afterResetQuery = new URLSearchParams({
  notice: 'password',
  next: keepAppPasswordsPath,
}).toString();
/** Path after a password reset: a sign-in, which leads to {@link keepAppPasswordsPath}. */
export const afterResetPath = `/sign-in?${afterResetQuery}`;

/** Signed-in user with the session of the browser. */
export interface Person {
  readonly account: Account;
  readonly session: Session;
}

declare module 'fastify' {
  interface FastifyRequest {
    person?: Person;
  }
  interface FastifyReply {
    /** The guard of page controllers sets this property before a handler runs. */
    page: PageContext;
  }
}

/** Fields of a form or a query. All values are strings. */
type Fields = Readonly<Record<string, string | undefined>>;

/** Sends a page that no cache stores, since it can contain personal data or a secret. */
export function sendPage(reply: FastifyReply, visit: Visit, page: Page): FastifyReply {
  if (page.forwardTo !== undefined) void reply.header('refresh', `0; url=${page.forwardTo}`);
  return reply
    .code(page.status ?? 200)
    .header('content-language', visit.language)
    .header('cache-control', 'no-store')
    .type('text/html; charset=utf-8')
    .send(renderDocument(visit, page));
}

/** Returns language, texts and sign-in state for the page that answers a request. */
export function visitOfReply({ request }: FastifyReply): Visit {
  return createVisit(request.headers['accept-language'], request.person !== undefined);
}

/** Returns true if the client accepts HTML, as browsers do. */
export function isBrowser({ headers }: FastifyRequest): boolean {
  return /\btext\/html\b/.test(headers.accept ?? '');
}

const sealPurpose = 'outcome of a form';
/** Default lifetime of a form's outcome in seconds. Browsers follow the redirect within it. */
const outcomeSeconds = 60;
/** Maximum characters of an entered value that a refused form shows again; the rest is cut. */
const maxEnteredLength = 254;

const outcomeSchema = z.object({ until: z.number(), value: z.unknown() });

/**
 * A request to a page controller, and its response. Invariants:
 * - Each form is answered with a redirect, so that Reload and Back do not submit the form again
 *   (POST/redirect/GET).
 * - An encrypted cookie carries the outcome of a form to the next page. Only that page can decrypt
 *   the cookie, and only for the same account. {@link PageContext.takeOutcome} deletes the cookie,
 *   so a new secret is shown once and not stored.
 */
export class PageContext {
  constructor(
    readonly request: FastifyRequest,
    readonly reply: FastifyReply,
    readonly cookies: Cookies,
    private readonly sealing: Seal,
  ) {}

  /** The signed-in user. Only routes with `ForPerson` guarantee that this user exists. */
  get person(): Person {
    return this.request.person as Person;
  }

  /** Text fields of the form. @throws BadRequestException for control characters, such as NUL. */
  get form(): Fields {
    return readFields(this.request.body);
  }

  /**
   * Fields of the URL's query. A repeated field has the last value.
   *
   * @throws BadRequestException for control characters, such as NUL.
   */
  get query(): Fields {
    const { url } = this.request;
    const queryStart = url.indexOf('?');
    if (queryStart < 0) return {};
    return readFields(Object.fromEntries(new URLSearchParams(url.slice(queryStart))));
  }

  /** Language and texts of the response, and whether a user is signed in. */
  get visit(): Visit {
    return visitOfReply(this.reply);
  }

  /** IP address, user agent and cookies of the browser. */
  get browser(): Browser {
    return this.cookies.readBrowser(this.request);
  }

  /** Sends the page that `view` renders from `content`. */
  show<Content>(view: (visit: Visit, content: Content) => Page, content: NoInfer<Content>): void {
    const { visit } = this;
    void sendPage(this.reply, visit, view(visit, content));
  }

  /** Redirects to another page of the site after a form (RFC 9110, 15.4.4). */
  redirect(path: string): void {
    void this.reply.code(303).header('cache-control', 'no-store').header('location', path).send();
  }

  /**
   * Redirects to a page with the outcome of a form.
   *
   * @param to path and query of the page.
   * @param value outcome, at most 2 kB as JSON, because browsers ignore cookies above 4 kB. The
   *   page reads it by {@link takeOutcome} or {@link readOutcome}.
   * @param seconds lifetime of the outcome.
   */
  redirectWithOutcome(to: string, value: object, seconds = outcomeSeconds): void {
    const path = removeQuery(to);
    const outcome = JSON.stringify({ until: Date.now() + seconds * 1_000, value });
    const sealedOutcome = this.sealing.seal(sealPurpose, outcome, this.buildSealContext(path));
    this.cookies.setOutcome(this.reply, path, sealedOutcome.toString('base64url'), seconds);
    this.redirect(to);
  }

  /** Redirects a browser back to a refused form. @throws `error` for other clients. */
  redirectRefused(to: string, value: object, error: unknown, seconds = outcomeSeconds): void {
    if (!isBrowser(this.request)) throw error;
    this.redirectWithOutcome(to, value, seconds);
  }

  /**
   * Redirects a browser back to a refused form, which shows the error texts.
   *
   * @param texts the form shows `entered` again. `wrong` has the texts of a refusal `credentials`.
   * @throws `error` for other clients, or if no text for `error` exists.
   */
  refuse(to: string, error: unknown, texts: { entered?: string; wrong?: Problems } = {}): void {
    const hasWrongCredentials = error instanceof Refusal && error.code === 'credentials';
    const problems =
      (hasWrongCredentials && texts.wrong) || problemTextsOf(this.visit.texts, error);
    this.redirectRefused(
      to,
      { entered: texts.entered?.slice(0, maxEnteredLength), problems },
      error,
    );
  }

  /** Redirects to a page that shows the result of a form. */
  redirectToDone(message: FormResult): void {
    this.redirectWithOutcome('/done', message);
  }

  /**
   * Redirects to another site or an app through the page `/forward`, because browsers block other
   * redirects after a form (`form-action`).
   *
   * @param where host that the page names; undefined for an app.
   */
  leaveSite(to: string, where: string | undefined): void {
    this.redirectWithOutcome('/forward', { to, where });
  }

  /** Returns the outcome of a form that redirected to this page; undefined without a valid one. */
  readOutcome<Outcome>(): Outcome | undefined {
    const path = removeQuery(this.request.url);
    const cookie = this.cookies.readOutcome(this.request, path);
    const outcomeJson =
      cookie !== undefined &&
      this.sealing.open(sealPurpose, Buffer.from(cookie, 'base64url'), this.buildSealContext(path));
    if (!outcomeJson) return undefined;
    const { until, value } = outcomeSchema.parse(JSON.parse(outcomeJson));
    return until > Date.now() ? (value as Outcome) : undefined;
  }

  /** Returns the same as {@link readOutcome}, and deletes the cookie of the outcome. */
  takeOutcome<Outcome>(): Outcome | undefined {
    const outcome = this.readOutcome<Outcome>();
    if (outcome !== undefined) this.cookies.clearOutcome(this.reply, removeQuery(this.request.url));
    return outcome;
  }

  /** Sets the session cookie and the device cookie after a sign-in. */
  signIn(result: SignInResult): void {
    this.cookies.setSignInCookies(this.reply, result);
  }

  private buildSealContext(path: string): string {
    return `${path} ${this.request.person?.account.id ?? ''}`;
  }
}

const removeQuery = (url: string) => url.split('?', 1)[0] as string;

function readFields(values: unknown): Fields {
  if (typeof values !== 'object' || values === null) return {};
  const textFields = Object.entries(values).filter(([, value]) => typeof value === 'string');
  if (!textFields.every(([, text]) => isPlainText(text as string)))
    throw new BadRequestException('a field contains control characters');
  return Object.fromEntries(textFields) as Fields;
}
