import { Get, Param, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { LoginFlows } from '../credentials/login-flows.js';
import type { Approver } from '../issuer/approvals.js';
import { Devices } from '../issuer/devices.js';
import { type AppRequest, Interactions } from '../issuer/interactions.js';
import { Refusal } from '../people/refusal.js';
import { type Form, FormOf, QueryOf } from './form.js';
import { PageResponder } from './page.responder.js';
import { demandRecent, ForPerson, PageController, type Person, PersonOf } from './person.guard.js';
import { scopes } from '#contracts';
import { type Approval, approvalPage, deviceCodePage } from './views/approval.view.js';

type Asked = Omit<Approval, 'name' | 'ownAddress'>;

const maxUserCode = 64;
/** Time to decide about an entered code, in seconds: the rest of a code's life at most. */
const codeSeconds = 15 * 60;

function approverOf({ account, session }: Person): Approver {
  const { id: sessionId, authenticatedAt } = session;
  return { accountId: account.id, sessionId, authenticatedAt };
}

function goesTo(redirectHost: string | undefined): Approval['goesTo'] {
  if (redirectHost === undefined) return undefined;
  return redirectHost.endsWith(':') ? 'device' : { host: redirectHost };
}

/** Returns the host to which a browser continues; undefined for an app on the device. */
function hostOf({ redirectHost }: AppRequest): string | undefined {
  return redirectHost?.endsWith(':') ? undefined : redirectHost;
}

/** Pages that ask to allow or deny an app. Allowing requires a recent sign-in. */
@PageController()
export class ApprovalController {
  constructor(
    private readonly pages: PageResponder,
    private readonly interactions: Interactions,
    private readonly devices: Devices,
    private readonly flows: LoginFlows,
  ) {}

  @Get('interaction/:uid')
  @ForPerson()
  async interaction(
    @PersonOf() person: Person,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const asked = await this.interactions.find(request.raw, reply.raw);
    if (!asked) throw new Refusal('link');
    demandRecent(person, request.url, asked.signInAfter);
    this.ask(reply, person, this.asked(asked, request.url));
  }

  @Post('interaction/:uid')
  @ForPerson()
  async decide(
    @PersonOf() person: Person,
    @FormOf() form: Form,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const asked = await this.interactions.find(request.raw, reply.raw);
    if (!asked) throw new Refusal('link');
    const isAllowed = form['decision'] === 'allow';
    if (isAllowed) demandRecent(person, request.url, asked.signInAfter);
    const by = approverOf(person);
    const to = isAllowed
      ? await this.interactions.allow(request.raw, reply.raw, by)
      : await this.interactions.deny(request.raw, reply.raw);
    if (to === undefined) throw new Refusal('link');
    this.pages.forward(reply, to, hostOf(asked));
  }

  @Get('device')
  @ForPerson()
  device(@QueryOf() query: Form, @Res() reply: FastifyReply): void {
    const refused = this.pages.take<Parameters<typeof deviceCodePage>[1]>(reply);
    this.pages.show(reply, (visit) =>
      deviceCodePage(visit, { code: query['user_code'], ...refused }),
    );
  }

  /** Asks for the decision about the entered code, which only this browser has. */
  @Get('device/request')
  @ForPerson({ recently: true })
  async deviceRequest(
    @PersonOf() person: Person,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const { code } = this.pages.read<{ code: string }>(reply) ?? {};
    if (code === undefined) return this.pages.redirect(reply, '/device');
    const asked = await this.devices.find(code, request.ip);
    if (!asked) return this.pages.follow(reply, '/device', { code, problem: 'unknown' });
    this.ask(reply, person, { ...this.asked(asked, '/device'), userCode: shownCode(asked.id) });
  }

  /** The first form contains the code; the second one also contains the decision. */
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
      this.pages.follow(reply, '/device', { code, problem });
    if (code === '') return refuse('missing');
    if (form['decision'] !== 'deny')
      demandRecent(person, `/device?${new URLSearchParams({ user_code: code }).toString()}`);
    if (form['decision'] === undefined)
      return this.pages.follow(reply, '/device/request', { code }, codeSeconds);
    const asked = await this.devices.find(code, request.ip);
    if (!asked) return refuse('unknown');
    const by = approverOf(person);
    const isAllowed = form['decision'] === 'allow';
    if (!(isAllowed ? await this.devices.allow(code, by) : await this.devices.deny(code)))
      return refuse('unknown');
    this.done(reply, isAllowed);
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
    if (!flow) throw new Refusal('link');
    demandRecent(person, request.url);
    const { label: app, address, createdAt: startedAt } = flow;
    this.ask(reply, person, { action: request.url, app, scopes, address, startedAt });
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
    if (!flow) throw new Refusal('link');
    const isAllowed = form['decision'] === 'allow';
    if (isAllowed) demandRecent(person, request.url);
    if (isAllowed && person.account.name === null) {
      return this.pages.redirect(
        reply,
        `/name?${new URLSearchParams({ next: request.url }).toString()}`,
      );
    }
    const isDone = isAllowed
      ? await this.flows.allow(token, person.account.id, person.session.id)
      : await this.flows.deny(token);
    if (!isDone) throw new Refusal('link');
    this.done(reply, isAllowed);
  }

  private asked(request: AppRequest, action: string): Asked {
    const { client, scopes: wanted, startedAt, address, redirectHost } = request;
    return {
      action,
      app: client.name,
      scopes: wanted,
      startedAt,
      address,
      goesTo: goesTo(redirectHost),
    };
  }

  private ask(reply: FastifyReply, { account }: Person, asked: Asked): void {
    const own = { name: account.name ?? account.id, ownAddress: reply.request.ip };
    this.pages.show(reply, (visit) => approvalPage(visit, { ...asked, ...own }));
  }

  private done(reply: FastifyReply, isAllowed: boolean): void {
    this.pages.finish(reply, { message: isAllowed ? 'allowed' : 'denied' });
  }
}

/** Formats a user code in two halves, as devices show it. */
function shownCode(code: string): string {
  const half = Math.ceil(code.length / 2);
  return `${code.slice(0, half)}-${code.slice(half)}`;
}
