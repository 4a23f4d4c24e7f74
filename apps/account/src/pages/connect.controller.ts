import { Get, Inject, NotFoundException, Param, Post, Res } from '@nestjs/common';
import { scopes } from '#contracts';
import type { FastifyReply } from 'fastify';
import { type AccountConfig, CONFIG } from '../account.config.js';
import { AppPasswords } from '../credentials/app-passwords.js';
import { addressForApps } from './connect-address.js';
import { type AppKey, connectableApps, isAppKey } from './connect-apps.js';
import { ConnectedApps } from './connected-apps.js';
import type { PageContext } from './page-context.js';
import { ForPerson, PageController } from './person.guard.js';
import { problemTextsOf } from './refusal-texts.js';
import { connectAppPage, connectPage, connectWaitPage, nameOf } from './views/connect.view.js';

/** Outcome of the form that creates an app password: the secret, or why it was not created. */
interface AppPasswordOutcome {
  readonly secret?: string;
  readonly credentialId?: string;
  readonly problem?: string | undefined;
}

/** Returns the key of an app from the path of its page. @throws NotFoundException if unknown. */
function appKeyOf(app: string): AppKey {
  if (!isAppKey(app)) throw new NotFoundException();
  return app;
}

/** Returns the path of the page that waits until an app uses the app password `id`. */
function waitPagePath(key: AppKey, since: number, id: string | undefined): string {
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
  showApps(@Res() { page }: FastifyReply): void {
    page.show(connectPage, { address: this.apiAddress(page) });
  }

  @Get('connect/:app')
  @ForPerson()
  showSteps(@Param('app') app: string, @Res() { page }: FastifyReply): void {
    const key = appKeyOf(app);
    const { credentialId, ...made } = page.takeOutcome<AppPasswordOutcome>() ?? {};
    const waitPath = waitPagePath(key, Date.now(), credentialId);
    const { name } = page.person.account;
    page.show(connectAppPage, { key, address: this.apiAddress(page), name, ...made, waitPath });
  }

  /** Creates an app password, which the page with the steps then shows once. */
  @Post('connect/:app')
  @ForPerson({ recently: true })
  async createAppPassword(@Param('app') app: string, @Res() { page }: FastifyReply): Promise<void> {
    const key = appKeyOf(app);
    const { account, session } = page.person;
    const { texts } = page.visit;
    if (!connectableApps[key].needsAppPassword) throw new NotFoundException();
    const path = `/connect/${key}`;
    try {
      const wanted = { label: nameOf(texts, key), scopes, isApp: key !== 'script' };
      const { secret, credential } = await this.appPasswords.create(account.id, wanted, session);
      const made: AppPasswordOutcome = { secret, credentialId: credential.id };
      page.redirectWithOutcome(path, made);
    } catch (error) {
      const { label, form } = problemTextsOf(texts, error);
      page.redirectRefused(path, { problem: label ?? form } satisfies AppPasswordOutcome, error);
    }
  }

  /** Shows whether the app has connected. A script of the page polls this route. */
  @Get('connect/:app/wait')
  @ForPerson()
  async showConnectionState(
    @Param('app') app: string,
    @Res() { page }: FastifyReply,
  ): Promise<void> {
    const key = appKeyOf(app);
    const { since: sent, id } = page.query;
    const { account } = page.person;
    const since = new Date(Number(sent));
    if (Number.isNaN(since.getTime())) return page.redirect(`/connect/${key}`);
    const syncedApp = await this.connected.findSyncedApp(account.id, since, id);
    const podcasts = syncedApp && (await this.connected.countPodcasts(account.id));
    const pagePath = waitPagePath(key, since.getTime(), id);
    page.show(connectWaitPage, { key, pagePath, app: syncedApp, podcasts });
  }

  private apiAddress({ request: { headers } }: PageContext): string {
    return addressForApps(this.config.API_URLS[0], headers.host);
  }
}
