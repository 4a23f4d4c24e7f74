import {
  applyDecorators,
  type CanActivate,
  Controller,
  type ExecutionContext,
  Inject,
  Injectable,
  NotFoundException,
  SetMetadata,
  UseGuards,
} from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type AccountConfig, CONFIG } from '../account.config.js';
import { Accounts } from '../people/accounts.js';
import { Seal } from '../people/seal.js';
import { Sessions } from '../people/sessions.js';
import { Cookies } from './cookies.js';
import { isSameOriginForm } from './same-origin.rules.js';
import { PageContext, type Person } from './page-context.js';

/** Maximum age of a recent sign-in in milliseconds. */
const recentSignInMs = 5 * 60_000;

function hasRecentSignIn({ session }: Person, after?: Date): boolean {
  const signInMs = session.authenticatedAt.getTime();
  if (after !== undefined && signInMs < after.getTime()) return false;
  return Date.now() - signInMs < recentSignInMs;
}

/** Requirements of a route for the signed-in user. */
interface SignInRequirement {
  /** True if the route requires a sign-in within the last 5 minutes. */
  readonly recently?: boolean;
  /** True if only administrators can open the page. Other signed-in users get 404. */
  readonly administrator?: boolean;
  /** Path that opens after the sign-in. Default: the requested path. */
  readonly next?: string;
}

const requirementKey = 'sign-in requirement';

/** Marks a route for signed-in users. Other requests are redirected to the sign-in page. */
export const ForPerson = (requirement: SignInRequirement = {}) =>
  SetMetadata(requirementKey, requirement);

/**
 * Requires a sign-in within the last 5 minutes.
 *
 * @param next path that opens after a new sign-in.
 * @param after earliest allowed time of the last sign-in; undefined for no other limit.
 * @throws SignInNeeded if the last sign-in is older.
 */
export function requireRecent(person: Person, next: string, after?: Date): void {
  if (!hasRecentSignIn(person, after)) throw new SignInNeeded(next);
}

/** Error of a request that requires a sign-in. After the sign-in, the path `next` opens. */
export class SignInNeeded extends Error {
  constructor(readonly next: string) {
    super('sign-in required');
  }
}

/** Error of a form that another site sent. */
export class CrossSiteForm extends Error {}

/**
 * Rejects forms of other sites, reads the signed-in user, and enforces {@link ForPerson}. Handlers
 * of page controllers get their {@link PageContext} as `page` of the reply.
 */
@Injectable()
class PersonGuard implements CanActivate {
  private readonly cookies: Cookies;

  constructor(
    private readonly reflector: Reflector,
    private readonly sessions: Sessions,
    private readonly accounts: Accounts,
    private readonly sealing: Seal,
    @Inject(CONFIG) private readonly config: AccountConfig,
  ) {
    this.cookies = new Cookies(config.PUBLIC_URL);
  }

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const request = context.switchToHttp().getRequest<FastifyRequest>();
    const reply = context.switchToHttp().getResponse<FastifyReply>();
    reply.page = new PageContext(request, reply, this.cookies, this.sealing);
    const isReadRequest = request.method === 'GET' || request.method === 'HEAD';
    if (!isReadRequest && !isSameOriginForm(request.headers, this.config.PUBLIC_URL))
      throw new CrossSiteForm('form of another site');
    const person = await this.findPerson(request);
    if (person) request.person = person;
    const requirement = this.reflector.get<SignInRequirement | undefined>(
      requirementKey,
      context.getHandler(),
    );
    if (person && requirement?.administrator && !person.account.isAdministrator)
      throw new NotFoundException();
    if (!requirement || (person && (!requirement.recently || hasRecentSignIn(person)))) return true;
    throw new SignInNeeded(requirement.next ?? request.url);
  }

  private async findPerson(request: FastifyRequest): Promise<Person | undefined> {
    const { session: cookie } = this.cookies.readBrowser(request);
    const session = cookie === undefined ? undefined : await this.sessions.findAndRecordUse(cookie);
    const account = session ? await this.accounts.find(session.accountId) : undefined;
    return session && account ? { session, account } : undefined;
  }
}

/** Marks a controller whose routes serve browsers: pages, or JSON for the console. */
export const PageController = () => applyDecorators(Controller(), UseGuards(PersonGuard));
