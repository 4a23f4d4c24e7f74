import {
  applyDecorators,
  type CanActivate,
  Controller,
  createParamDecorator,
  type ExecutionContext,
  Inject,
  Injectable,
  SetMetadata,
  UseGuards,
} from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { FastifyRequest } from 'fastify';
import { CONFIG, type AccountConfig } from '../account.config.js';
import { type Account, Accounts } from '../people/accounts.js';
import { type Session, Sessions } from '../people/sessions.js';
import { Cookies } from './cookies.js';
import { isOwnForm } from './own-form.rule.js';

/** Who is signed in, in this browser. */
export interface Person {
  readonly account: Account;
  readonly session: Session;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Who is signed in, where a route asked for that. */
    person?: Person;
  }
}

/** How long a sign-in counts as recent, in milliseconds. */
const recentMs = 5 * 60_000;

/** Whether somebody has shown lately enough that it is them. */
function isRecent({ session }: Person, after?: Date): boolean {
  const at = session.authenticatedAt.getTime();
  return Date.now() - at < recentMs && !(after !== undefined && at < after.getTime());
}

interface Need {
  /** Within the last minutes. */
  readonly recently?: boolean;
  /** Where sign-in leads on to; left out: to the path that was asked for. */
  readonly next?: string;
}

const needKey = 'person needed';

/** The route is for somebody who is signed in; others sign in first. */
export const ForPerson = (need: Need = {}) => SetMetadata(needKey, need);

/** Who approves something has shown lately that it is them. @throws SignInNeeded */
export function demandRecent(person: Person, next: string, after?: Date): void {
  if (!isRecent(person, after)) throw new SignInNeeded(next);
}

/** Who is signed in, on a route {@link ForPerson}. */
export const PersonOf = createParamDecorator(
  (_: unknown, context: ExecutionContext) => context.switchToHttp().getRequest<FastifyRequest>().person,
);

/** Somebody has to sign in first, and is led on then. */
export class SignInNeeded extends Error {
  constructor(readonly next: string) {
    super('sign-in needed');
  }
}

/** A form that was not sent by a page of ours. */
export class CrossSiteForm extends Error {}

/** What each page asks for before it is made: that a form is ours, and who is signed in. */
@Injectable()
class PersonGuard implements CanActivate {
  private readonly cookies: Cookies;

  constructor(
    private readonly reflector: Reflector,
    private readonly sessions: Sessions,
    private readonly accounts: Accounts,
    @Inject(CONFIG) private readonly config: AccountConfig,
  ) {
    this.cookies = new Cookies(config.PUBLIC_URL);
  }

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const request = context.switchToHttp().getRequest<FastifyRequest>();
    const isRead = request.method === 'GET' || request.method === 'HEAD';
    if (!isRead && !isOwnForm(request.headers, this.config.PUBLIC_URL)) throw new CrossSiteForm('not our form');
    const person = await this.find(request);
    if (person) request.person = person;
    const need = this.reflector.get<Need | undefined>(needKey, context.getHandler());
    if (!need || (person && (!need.recently || isRecent(person)))) return true;
    throw new SignInNeeded(need.next ?? request.url);
  }

  private async find(request: FastifyRequest): Promise<Person | undefined> {
    const { session: cookie } = this.cookies.read(request);
    const session = cookie === undefined ? undefined : await this.sessions.find(cookie);
    const account = session ? await this.accounts.find(session.accountId) : undefined;
    return session && account ? { session, account } : undefined;
  }
}

/** Marks a controller whose routes answer browsers: with pages, or with JSON for the scripts of the console. */
export const PageController = () => applyDecorators(Controller(), UseGuards(PersonGuard));
