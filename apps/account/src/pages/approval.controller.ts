import { Get, Param, Post, Res } from '@nestjs/common';
import { scopes } from '#contracts';
import type { FastifyReply } from 'fastify';
import { LoginFlows } from '../credentials/login-flows.js';
import type { ConsentingUser } from '../issuer/consent.service.js';
import { DeviceAuthorizations } from '../issuer/device-authorizations.js';
import { type AppRequest, Interactions } from '../issuer/interactions.js';
import { Refusal } from '../people/refusal.js';
import { withNext } from './next-path.rules.js';
import type { PageContext, Person } from './page-context.js';
import { ForPerson, PageController, requireRecent } from './person.guard.js';
import { type Approval, approvalPage, deviceCodePage } from './views/approval.view.js';

const maxUserCodeLength = 64;
/** Seconds for the decision after the entry of a device's code; equal to the code's lifetime. */
const userCodeSeconds = 15 * 60;

function toConsentingUser({ account, session }: Person): ConsentingUser {
  const { id: sessionId, authenticatedAt } = session;
  return { accountId: account.id, sessionId, authenticatedAt };
}

/** Returns the redirect target as the approval page shows it; undefined without a redirect. */
function toRedirectTarget(redirectHost: string | undefined): Approval['goesTo'] {
  if (redirectHost === undefined) return undefined;
  return redirectHost.endsWith(':') ? 'device' : { host: redirectHost };
}

/** Returns the host of the redirect URI; undefined for a private scheme or without a redirect. */
function findRedirectHost({ redirectHost }: AppRequest): string | undefined {
  return redirectHost?.endsWith(':') ? undefined : redirectHost;
}

/** Serves pages that ask to allow or deny an app. Allowing requires a recent sign-in. */
@PageController()
export class ApprovalController {
  constructor(
    private readonly interactions: Interactions,
    private readonly devices: DeviceAuthorizations,
    private readonly loginFlows: LoginFlows,
  ) {}

  @Get('interaction/:uid')
  @ForPerson()
  async askForBrowser(@Res() { page, raw }: FastifyReply): Promise<void> {
    const { request, person } = page;
    const appRequest = await this.interactions.findAuthorizationRequest(request.raw, raw);
    if (!appRequest) throw new Refusal('app_request');
    requireRecent(person, request.url, appRequest.signInAfter);
    showApproval(page, toRequestDetails(appRequest, request.url));
  }

  @Post('interaction/:uid')
  @ForPerson()
  async decideForBrowser(@Res() { page, raw }: FastifyReply): Promise<void> {
    const { request, person, form } = page;
    const appRequest = await this.interactions.findAuthorizationRequest(request.raw, raw);
    if (!appRequest) throw new Refusal('app_request');
    const isAllowed = form['decision'] === 'allow';
    if (isAllowed) requireRecent(person, request.url, appRequest.signInAfter);
    const redirectUrl = isAllowed
      ? await this.interactions.allowRequest(request.raw, raw, toConsentingUser(person))
      : await this.interactions.denyRequest(request.raw, raw);
    if (redirectUrl === undefined) throw new Refusal('app_request');
    page.leaveSite(redirectUrl, findRedirectHost(appRequest));
  }

  @Get('device')
  @ForPerson()
  showDeviceCodeForm(@Res() { page }: FastifyReply): void {
    const code = page.query['user_code'];
    page.show(deviceCodePage, {
      code,
      ...page.takeOutcome<Parameters<typeof deviceCodePage>[1]>(),
    });
  }

  /** Asks whether to allow the device whose code was entered in this browser. */
  @Get('device/request')
  @ForPerson({ recently: true })
  async askForDevice(@Res() { page }: FastifyReply): Promise<void> {
    const { code } = page.readOutcome<{ code: string }>() ?? {};
    if (code === undefined) return page.redirect('/device');
    const appRequest = await this.devices.findAuthorizationRequest(code, page.request.ip);
    if (!appRequest) return page.redirectWithOutcome('/device', { code, problem: 'unknown' });
    const userCode = formatUserCode(appRequest.id);
    showApproval(page, { ...toRequestDetails(appRequest, '/device'), userCode });
  }

  /** Handles two forms: the entry of a device's code, and the decision about the device. */
  @Post('device')
  @ForPerson({ next: '/device' })
  async handleDeviceForm(@Res() { page }: FastifyReply): Promise<void> {
    const { form, person } = page;
    const code = (form['user_code'] ?? '').trim().slice(0, maxUserCodeLength);
    const redirectWithProblem = (problem: 'missing' | 'unknown') =>
      page.redirectWithOutcome('/device', { code, problem });
    if (code === '') return redirectWithProblem('missing');
    if (form['decision'] !== 'deny')
      requireRecent(person, `/device?${new URLSearchParams({ user_code: code }).toString()}`);
    if (form['decision'] === undefined)
      return page.redirectWithOutcome('/device/request', { code }, userCodeSeconds);
    const appRequest = await this.devices.findAuthorizationRequest(code, page.request.ip);
    if (!appRequest) return redirectWithProblem('unknown');
    const isAllowed = form['decision'] === 'allow';
    const isDecided = isAllowed
      ? await this.devices.allowRequest(code, toConsentingUser(person))
      : await this.devices.denyRequest(code);
    if (!isDecided) return redirectWithProblem('unknown');
    showDecision(page, isAllowed);
  }

  @Get('login/v2/flow/:token')
  @ForPerson()
  async askForLoginFlow(
    @Param('token') token: string,
    @Res() { page }: FastifyReply,
  ): Promise<void> {
    const flow = await this.loginFlows.findOpenFlow(token);
    if (!flow) throw new Refusal('app_request');
    const { url: action } = page.request;
    requireRecent(page.person, action);
    const { label: app, address, createdAt: startedAt } = flow;
    showApproval(page, { action, app, scopes, address, startedAt });
  }

  @Post('login/v2/flow/:token')
  @ForPerson()
  async decideForLoginFlow(
    @Param('token') token: string,
    @Res() { page }: FastifyReply,
  ): Promise<void> {
    const { form, person, request } = page;
    const flow = await this.loginFlows.findOpenFlow(token);
    if (!flow) throw new Refusal('app_request');
    const isAllowed = form['decision'] === 'allow';
    if (isAllowed) requireRecent(person, request.url);
    if (isAllowed && person.account.name === null)
      return page.redirect(withNext('/name', request.url));
    const isDecided = isAllowed
      ? await this.loginFlows.approve(token, person.account.id, person.session.id)
      : await this.loginFlows.deny(token);
    if (!isDecided) throw new Refusal('app_request');
    showDecision(page, isAllowed);
  }
}

/** Details of an app's request, which the approval page shows. */
type RequestDetails = Omit<Approval, 'name' | 'ownAddress'>;

function toRequestDetails(request: AppRequest, action: string): RequestDetails {
  const { client, scopes: requestedScopes, startedAt, address, redirectHost } = request;
  const goesTo = toRedirectTarget(redirectHost);
  return { action, app: client.name, scopes: requestedScopes, startedAt, address, goesTo };
}

function showApproval(page: PageContext, details: RequestDetails): void {
  const { account } = page.person;
  const name = account.name ?? account.id;
  page.show(approvalPage, { ...details, name, ownAddress: page.request.ip });
}

function showDecision(page: PageContext, isAllowed: boolean): void {
  page.redirectToDone({ message: isAllowed ? 'allowed' : 'denied' });
}

/** Formats a user code in two halves, as devices show it. */
function formatUserCode(code: string): string {
  const halfLength = Math.ceil(code.length / 2);
  return `${code.slice(0, halfLength)}-${code.slice(halfLength)}`;
}
