import { Get, Param, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { LoginFlows } from '../credentials/login-flows.js';
import type { Approver } from '../issuer/approvals.js';
import { DeviceAuthorizations } from '../issuer/device-authorizations.js';
import { type AppRequest, Interactions } from '../issuer/interactions.js';
import { Refusal } from '../people/refusal.js';
import { type Form, FormOf, QueryOf } from './form.js';
import { withNext } from './next-path.rules.js';
import { PageResponder } from './page.responder.js';
import { requireRecent, ForPerson, PageController, type Person, PersonOf } from './person.guard.js';
import { scopes } from '#contracts';
import { type Approval, approvalPage, deviceCodePage } from './views/approval.view.js';

type RequestDetails = Omit<Approval, 'name' | 'ownAddress'>;

const maxUserCode = 64;
/** Maximum seconds between the entry of a code and the decision: the lifetime of the code. */
const codeSeconds = 15 * 60;

function approverOf({ account, session }: Person): Approver {
  const { id: sessionId, authenticatedAt } = session;
  return { accountId: account.id, sessionId, authenticatedAt };
}

function toTarget(redirectHost: string | undefined): Approval['goesTo'] {
  if (redirectHost === undefined) return undefined;
  return redirectHost.endsWith(':') ? 'device' : { host: redirectHost };
}

/** Returns the host of the redirect; undefined for an app on this device. */
function hostOf({ redirectHost }: AppRequest): string | undefined {
  return redirectHost?.endsWith(':') ? undefined : redirectHost;
}

/** Serves pages that ask to allow or deny an app. Allowing requires a recent sign-in. */
@PageController()
export class ApprovalController {
  constructor(
    private readonly pages: PageResponder,
    private readonly interactions: Interactions,
    private readonly devices: DeviceAuthorizations,
    private readonly flows: LoginFlows,
  ) {}

  @Get('interaction/:uid')
  @ForPerson()
  async interaction(
    @PersonOf() person: Person,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const appRequest = await this.interactions.find(request.raw, reply.raw);
    if (!appRequest) throw new Refusal('app_request');
    requireRecent(person, request.url, appRequest.signInAfter);
    this.showApproval(reply, person, this.describe(appRequest, request.url));
  }

  @Post('interaction/:uid')
  @ForPerson()
  async decide(
    @PersonOf() person: Person,
    @FormOf() form: Form,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const appRequest = await this.interactions.find(request.raw, reply.raw);
    if (!appRequest) throw new Refusal('app_request');
    const isAllowed = form['decision'] === 'allow';
    if (isAllowed) requireRecent(person, request.url, appRequest.signInAfter);
    const by = approverOf(person);
    const to = isAllowed
      ? await this.interactions.allow(request.raw, reply.raw, by)
      : await this.interactions.deny(request.raw, reply.raw);
    if (to === undefined) throw new Refusal('app_request');
    this.pages.leaveSite(reply, to, hostOf(appRequest));
  }

  @Get('device')
  @ForPerson()
  device(@QueryOf() query: Form, @Res() reply: FastifyReply): void {
    const refused = this.pages.takeOutcome<Parameters<typeof deviceCodePage>[1]>(reply);
    this.pages.show(reply, (visit) =>
      deviceCodePage(visit, { code: query['user_code'], ...refused }),
    );
  }

  /** Asks for the decision about the code that this browser has entered. */
  @Get('device/request')
  @ForPerson({ recently: true })
  async deviceRequest(
    @PersonOf() person: Person,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const { code } = this.pages.readOutcome<{ code: string }>(reply) ?? {};
    if (code === undefined) return this.pages.redirect(reply, '/device');
    const appRequest = await this.devices.find(code, request.ip);
    if (!appRequest)
      return this.pages.redirectWithOutcome(reply, '/device', { code, problem: 'unknown' });
    this.showApproval(reply, person, {
      ...this.describe(appRequest, '/device'),
      userCode: formatUserCode(appRequest.id),
    });
  }

  /** Handles the form with the code, and the form with the code and the decision about it. */
  @Post('device')
  @ForPerson({ next: '/device' })
  async enter(
    @PersonOf() person: Person,
    @FormOf() form: Form,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const code = (form['user_code'] ?? '').trim().slice(0, maxUserCode);
    const refuse = (problem: 'missing' | 'unknown') =>
      this.pages.redirectWithOutcome(reply, '/device', { code, problem });
    if (code === '') return refuse('missing');
    if (form['decision'] !== 'deny')
      requireRecent(person, `/device?${new URLSearchParams({ user_code: code }).toString()}`);
    if (form['decision'] === undefined)
      return this.pages.redirectWithOutcome(reply, '/device/request', { code }, codeSeconds);
    const appRequest = await this.devices.find(code, request.ip);
    if (!appRequest) return refuse('unknown');
    const by = approverOf(person);
    const isAllowed = form['decision'] === 'allow';
    if (!(isAllowed ? await this.devices.allow(code, by) : await this.devices.deny(code)))
      return refuse('unknown');
    this.showDecision(reply, isAllowed);
  }

  @Get('login/v2/flow/:token')
  @ForPerson()
  async flow(
    @PersonOf() person: Person,
    @Param('token') token: string,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const flow = await this.flows.find(token);
    if (!flow) throw new Refusal('app_request');
    requireRecent(person, request.url);
    const { label: app, address, createdAt: startedAt } = flow;
    this.showApproval(reply, person, { action: request.url, app, scopes, address, startedAt });
  }

  @Post('login/v2/flow/:token')
  @ForPerson()
  async decideFlow(
    @PersonOf() person: Person,
    @Param('token') token: string,
    @FormOf() form: Form,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const flow = await this.flows.find(token);
    if (!flow) throw new Refusal('app_request');
    const isAllowed = form['decision'] === 'allow';
    if (isAllowed) requireRecent(person, request.url);
    if (isAllowed && person.account.name === null)
      return this.pages.redirect(reply, withNext('/name', request.url));
    const isDone = isAllowed
      ? await this.flows.allow(token, person.account.id, person.session.id)
      : await this.flows.deny(token);
    if (!isDone) throw new Refusal('app_request');
    this.showDecision(reply, isAllowed);
  }

  private describe(request: AppRequest, action: string): RequestDetails {
    const { client, scopes: wanted, startedAt, address, redirectHost } = request;
    return {
      action,
      app: client.name,
      scopes: wanted,
      startedAt,
      address,
      goesTo: toTarget(redirectHost),
    };
  }

  private showApproval(reply: FastifyReply, { account }: Person, details: RequestDetails): void {
    const own = { name: account.name ?? account.id, ownAddress: reply.request.ip };
    this.pages.show(reply, (visit) => approvalPage(visit, { ...details, ...own }));
  }

  private showDecision(reply: FastifyReply, isAllowed: boolean): void {
    this.pages.redirectToDone(reply, { message: isAllowed ? 'allowed' : 'denied' });
  }
}

/** Formats a user code in two halves, as devices show it. */
function formatUserCode(code: string): string {
  const half = Math.ceil(code.length / 2);
  return `${code.slice(0, half)}-${code.slice(half)}`;
}
