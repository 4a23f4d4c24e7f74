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

/** Outcome of the form that creates an app password: the secret and its id, or a problem. */
interface AppPasswordOutcome {
  readonly secret?: string;
  readonly credentialId?: string;
  readonly problem?: string | undefined;
}

/** Returns the last segment of a path as an app's key. @throws NotFoundException for other text. */
function parseAppKey(segment: string): AppKey {
  if (!isAppKey(segment)) throw new NotFoundException();
  return segment;
}

/**
 * Returns the path of the page that waits for an app.
 *
 * @param since milliseconds since 1970. Older app passwords and grants do not count.
 * @param id app password that the app must use; undefined for any app password or grant.
 */
function buildWaitPath(key: AppKey, since: number, id: string | undefined): string {
  const query = new URLSearchParams({ since: String(since), ...(id !== undefined && { id }) });
  return `/connect/${key}/wait?${query.toString()}`;
}

/** Serves pages that connect a podcast app: the choice, the steps, and the wait for the app. */
@PageController()
export class ConnectController {
  constructor(
    private readonly appPasswords: AppPasswords,
    private readonly connectedApps: ConnectedApps,
    @Inject(CONFIG) private readonly config: Pick<AccountConfig, 'API_URLS'>,
  ) {}

  @Get('connect')
  @ForPerson()
  showApps(@Res() { page }: FastifyReply): void {
    page.show(connectPage, { address: this.findApiAddress(page) });
  }

  @Get('connect/:app')
  @ForPerson()
  showSteps(@Param('app') app: string, @Res() { page }: FastifyReply): void {
    const key = parseAppKey(app);
    const { credentialId, ...outcome } = page.takeOutcome<AppPasswordOutcome>() ?? {};
    const waitPath = buildWaitPath(key, Date.now(), credentialId);
    const { name } = page.person.account;
    page.show(connectAppPage, {
      key,
      address: this.findApiAddress(page),
      name,
      ...outcome,
      waitPath,
    });
  }

  /** Creates an app password. The page with the steps shows the secret once. */
  @Post('connect/:app')
  @ForPerson({ recently: true })
  async createAppPassword(@Param('app') app: string, @Res() { page }: FastifyReply): Promise<void> {
    const key = parseAppKey(app);
    const { account, session } = page.person;
    const { texts } = page.visit;
    if (!connectableApps[key].needsAppPassword) throw new NotFoundException();
    const path = `/connect/${key}`;
    try {
      const newAppPassword = { label: nameOf(texts, key), scopes, isApp: key !== 'script' };
      const { secret, credential } = await this.appPasswords.create(
        account.id,
        newAppPassword,
        session,
      );
      const outcome: AppPasswordOutcome = { secret, credentialId: credential.id };
      page.redirectWithOutcome(path, outcome);
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
    const key = parseAppKey(app);
    const { since: sinceMs, id } = page.query;
    const { account } = page.person;
    const since = new Date(Number(sinceMs));
    if (Number.isNaN(since.getTime())) return page.redirect(`/connect/${key}`);
    const syncedApp = await this.connectedApps.findSyncedApp(account.id, since, id);
    const podcasts = syncedApp && (await this.connectedApps.countPodcasts(account.id));
    const pagePath = buildWaitPath(key, since.getTime(), id);
    page.show(connectWaitPage, { key, pagePath, app: syncedApp, podcasts });
  }

  private findApiAddress({ request: { headers } }: PageContext): string {
    return addressForApps(this.config.API_URLS[0], headers.host);
  }
}
