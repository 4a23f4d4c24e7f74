import { Get, Inject, NotFoundException, Param, Post, Req, Res } from '@nestjs/common';
import { scopes } from '#contracts';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type AccountConfig, CONFIG } from '../account.config.js';
import { AppPasswords } from '../credentials/app-passwords.js';
import { addressForApps } from './connect.address.js';
import { type AppKey, connectableApps, isAppKey } from './connect.apps.js';
import { ConnectedApps } from './connected.apps.js';
import { type Form, QueryOf } from './form.js';
import { ForPerson, PageController, type Person, PersonOf } from './person.guard.js';
import { PageResponder, visitFor } from './page.responder.js';
import { problemsOf } from './refusal.texts.js';
import {
  type AppSteps,
  connectAppPage,
  connectPage,
  connectWaitPage,
  nameOf,
} from './views/connect.view.js';

interface Made {
  readonly secret?: string;
  readonly credentialId?: string;
  readonly problem?: string | undefined;
}

/** Returns the key of the app in a path. @throws NotFoundException if there is none. */
function keyIn(app: string): AppKey {
  if (!isAppKey(app)) throw new NotFoundException();
  return app;
}

function waitPath(key: AppKey, since: number, id: string | undefined): string {
  const query = new URLSearchParams({ since: String(since), ...(id !== undefined && { id }) });
  return `/connect/${key}/wait?${query.toString()}`;
}

/** Serves pages that connect a podcast app: choice, steps with an app password, and result. */
@PageController()
export class ConnectController {
  constructor(
    private readonly pages: PageResponder,
    private readonly appPasswords: AppPasswords,
    private readonly connected: ConnectedApps,
    @Inject(CONFIG) private readonly config: Pick<AccountConfig, 'API_URLS' | 'PUBLIC_URL'>,
  ) {}

  @Get('connect')
  @ForPerson()
  choose(@Req() request: FastifyRequest, @Res() reply: FastifyReply): void {
    const address = this.address(request);
    this.pages.show(reply, (visit) => connectPage(visit, { address }));
  }

  @Get('connect/:app')
  @ForPerson()
  steps(
    @PersonOf() { account }: Person,
    @Param('app') app: string,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): void {
    const key = keyIn(app);
    const { secret, credentialId, problem } = this.pages.takeOutcome<Made>(reply) ?? {};
    const of: AppSteps = {
      key,
      address: this.address(request),
      name: account.name,
      secret,
      problem,
      wait: waitPath(key, Date.now(), credentialId),
    };
    this.pages.show(reply, (visit) => connectAppPage(visit, of));
  }

  /** Creates an app password, which the page of the steps then shows once. */
  @Post('connect/:app')
  @ForPerson({ recently: true })
  async make(
    @PersonOf() { account, session }: Person,
    @Param('app') app: string,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const key = keyIn(app);
    const { texts } = visitFor(reply);
    if (!connectableApps[key].needsAppPassword) throw new NotFoundException();
    const path = `/connect/${key}`;
    try {
      const wanted = { label: nameOf(texts, key), scopes, isApp: key !== 'script' };
      const { secret, credential } = await this.appPasswords.create(account.id, wanted, session);
      this.pages.redirectWithOutcome(reply, path, {
        secret,
        credentialId: credential.id,
      } satisfies Made);
    } catch (error) {
      const { label, form } = problemsOf(texts, error);
      this.pages.redirectRefused(reply, path, { problem: label ?? form } satisfies Made, error);
    }
  }

  /** Shows whether the app has connected. The script of the page repeats the request. */
  @Get('connect/:app/wait')
  @ForPerson()
  async wait(
    @PersonOf() { account }: Person,
    @Param('app') named: string,
    @QueryOf() { since: sent, id }: Form,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const key = keyIn(named);
    const since = new Date(Number(sent));
    if (Number.isNaN(since.getTime())) return this.pages.redirect(reply, `/connect/${key}`);
    const app = await this.connected.find(account.id, since, id);
    const podcasts = app && (await this.connected.countPodcasts(account.id));
    const path = waitPath(key, since.getTime(), id);
    this.pages.show(reply, (visit) => connectWaitPage(visit, { key, path, app, podcasts }));
  }

  private address({ headers }: FastifyRequest): string {
    const { API_URLS: [api] = [], PUBLIC_URL } = this.config;
    return addressForApps(api ?? PUBLIC_URL, headers.host);
  }
}
