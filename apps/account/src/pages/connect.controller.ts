import { Get, Inject, NotFoundException, Param, Post, Res } from '@nestjs/common';
import { scopes } from '#contracts';
import type { FastifyReply } from 'fastify';
import { type AccountConfig, CONFIG } from '../account.config.js';
import { AppPasswords } from '../credentials/app-passwords.js';
import { addressForApps } from './connect.address.js';
import { type AppKey, connectableApps, isAppKey } from './connect.apps.js';
import { ConnectedApps } from './connected.apps.js';
import type { PageContext } from './page.context.js';
import { ForPerson, PageController } from './person.guard.js';
import { problemsOf } from './refusal.texts.js';
import { connectAppPage, connectPage, connectWaitPage, nameOf } from './views/connect.view.js';

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
    private readonly appPasswords: AppPasswords,
    private readonly connected: ConnectedApps,
    @Inject(CONFIG) private readonly config: Pick<AccountConfig, 'API_URLS'>,
  ) {}

  @Get('connect')
  @ForPerson()
  choose(@Res() { page }: FastifyReply): void {
    page.show(connectPage, { address: this.address(page) });
  }

  @Get('connect/:app')
  @ForPerson()
  steps(@Param('app') app: string, @Res() { page }: FastifyReply): void {
    const key = keyIn(app);
    const { credentialId, ...made } = page.takeOutcome<Made>() ?? {};
    const wait = waitPath(key, Date.now(), credentialId);
    const { name } = page.person.account;
    page.show(connectAppPage, { key, address: this.address(page), name, ...made, wait });
  }

  /** Creates an app password, which the page of the steps then shows once. */
  @Post('connect/:app')
  @ForPerson({ recently: true })
  async make(@Param('app') app: string, @Res() { page }: FastifyReply): Promise<void> {
    const key = keyIn(app);
    const { account, session } = page.person;
    const { texts } = page.visit;
    if (!connectableApps[key].needsAppPassword) throw new NotFoundException();
    const path = `/connect/${key}`;
    try {
      const wanted = { label: nameOf(texts, key), scopes, isApp: key !== 'script' };
      const { secret, credential } = await this.appPasswords.create(account.id, wanted, session);
      const made: Made = { secret, credentialId: credential.id };
      page.redirectWithOutcome(path, made);
    } catch (error) {
      const { label, form } = problemsOf(texts, error);
      page.redirectRefused(path, { problem: label ?? form } satisfies Made, error);
    }
  }

  /** Shows whether the app has connected. The script of the page repeats the request. */
  @Get('connect/:app/wait')
  @ForPerson()
  async wait(@Param('app') named: string, @Res() { page }: FastifyReply): Promise<void> {
    const key = keyIn(named);
    const { since: sent, id } = page.query;
    const { account } = page.person;
    const since = new Date(Number(sent));
    if (Number.isNaN(since.getTime())) return page.redirect(`/connect/${key}`);
    const app = await this.connected.find(account.id, since, id);
    const podcasts = app && (await this.connected.countPodcasts(account.id));
    page.show(connectWaitPage, { key, path: waitPath(key, since.getTime(), id), app, podcasts });
  }

  private address({ request: { headers } }: PageContext): string {
    return addressForApps(this.config.API_URLS[0], headers.host);
  }
}
