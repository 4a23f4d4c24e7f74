import { Get, Header, Inject, Post, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { type AccountConfig, CONFIG } from '../account.config.js';
import { siteAssets } from './site-assets.js';
import { AppPasswords } from '../credentials/app-passwords.js';
import { Devices } from '../gpodder/devices.js';
import { Grants } from '../issuer/grants.js';
import { Emails } from '../people/emails.js';
import { Notices } from '../people/notices.js';
import { RecoveryCodes } from '../people/recovery-codes.js';
import { Sessions } from '../people/sessions.js';
import { RelyingParty } from '../relying-party/relying-party.js';
import { ConnectedApps } from './connected-apps.js';
import { isBrowser, type PageContext, startPath } from './page-context.js';
import { ForPerson, PageController } from './person.guard.js';
import { accountPage } from './views/account.view.js';
import { forwardPage } from './views/failure.view.js';
import { type FormResult, formResultPage } from './views/message.view.js';

/** Returns the URLs of this server, for clients that only know its address. */
function buildServerUrls({ PUBLIC_URL, API_URLS: [api] }: AccountConfig) {
  return {
    name: 'Podcast Sync',
    api,
    api_description: `${api}/openapi.json`,
    documentation: `${api}/docs`,
    authorization_server: PUBLIC_URL,
    console: `${PUBLIC_URL}/console/`,
  };
}

/** Serves the account page and its forms that end access. A repeated form has no effect. */
@PageController()
export class HomeController {
  constructor(
    private readonly grants: Grants,
    private readonly appPasswords: AppPasswords,
    private readonly sessions: Sessions,
    private readonly devices: Devices,
    private readonly recoveryCodes: RecoveryCodes,
    private readonly emails: Emails,
    private readonly notices: Notices,
    private readonly connectedApps: ConnectedApps,
    private readonly relyingParty: RelyingParty,
    @Inject(CONFIG) private readonly config: AccountConfig,
  ) {}

  /** Redirects browsers to the console or the sign-in page. Sends URLs as JSON to other clients. */
  @Get()
  redirectToStart(@Res() { page }: FastifyReply): unknown {
    const { request, reply } = page;
    if (!isBrowser(request)) return reply.send(buildServerUrls(this.config));
    return page.redirect(request.person ? startPath : '/sign-in');
  }

  @Get('account')
  @ForPerson()
  async showAccount(@Res() { page }: FastifyReply): Promise<void> {
    const { query, person } = page;
    const { id } = person.account;
    const [apps, appPasswords, devices, sessions, recoveryCodes, notices, podcasts] =
      await Promise.all([
        this.grants.listApps(id),
        this.appPasswords.list(id),
        this.devices.list(id),
        this.sessions.listValid(id),
        this.recoveryCodes.countUnused(id),
        this.notices.list(id),
        this.connectedApps.countPodcasts(id),
      ]);
    page.show(accountPage, {
      ...person,
      done: query['done'] !== undefined,
      apps,
      appPasswords,
      podcasts,
      devices,
      sessions,
      notices,
      recoveryCodes,
      hasMail: this.emails.hasMailServer,
      providerHost: this.relyingParty.host,
    });
  }

  /** Shows the result of a form once. A reload redirects to the account page. */
  @Get('done')
  showFormResult(@Res() { page }: FastifyReply): void {
    const formResult = page.takeOutcome<FormResult>();
    if (!formResult) return page.redirect('/account');
    page.show(formResultPage, formResult);
  }

  /** Shows once the page that redirects to another site or an app after a form. */
  @Get('forward')
  showForwardPage(@Res() { page }: FastifyReply): void {
    const redirectTarget = page.takeOutcome<{ to: string; where?: string }>();
    if (!redirectTarget) return page.redirect('/account');
    page.show((visit) => forwardPage(visit, redirectTarget.to, redirectTarget.where), undefined);
  }

  /** Returns the web app manifest, with which phones put the site on their home screen. */
  @Get('manifest.webmanifest')
  @Header('content-type', 'application/manifest+json')
  webAppManifest(): object {
    const { icon, touchIcon } = siteAssets ?? {};
    const icons = [
      { src: icon, sizes: 'any', type: 'image/svg+xml' },
      { src: touchIcon, sizes: '512x512', type: 'image/png', purpose: 'any maskable' },
    ];
    return {
      name: 'Podcast Sync',
      id: '/',
      start_url: startPath,
      display: 'minimal-ui',
      background_color: '#f4f3f8',
      theme_color: '#5b3fc4',
      icons: icons.filter(({ src }) => src !== undefined),
    };
  }

  @Get('robots.txt')
  @Header('content-type', 'text/plain; charset=utf-8')
  robotsTxt(): string {
    return 'User-agent: *\nDisallow: /\n';
  }

  @Post('apps/end')
  @ForPerson({ next: '/account' })
  async endGrantOfApp(@Res() { page }: FastifyReply): Promise<void> {
    await this.grants.endGrant(page.person.account.id, readFormId(page).slice(0, 100));
    page.redirect('/account?done');
  }

  @Post('app-passwords/revoke')
  @ForPerson({ next: '/account' })
  async revokeAppPassword(@Res() { page }: FastifyReply): Promise<void> {
    await this.appPasswords.revoke(page.person.account.id, readFormId(page));
    page.redirect('/account?done');
  }

  @Post('devices/forget')
  @ForPerson({ next: '/account' })
  async deleteDevice(@Res() { page }: FastifyReply): Promise<void> {
    await this.devices.delete(page.person.account.id, readFormId(page));
    page.redirect('/account?done');
  }

  @Post('sessions/end')
  @ForPerson({ next: '/account' })
  async endSession(@Res() { page }: FastifyReply): Promise<void> {
    await this.sessions.endSession(page.person.account.id, readFormId(page));
    page.redirect('/account?done');
  }

  @Post('sessions/end-others')
  @ForPerson({ next: '/account' })
  async endOtherSessions(@Res() { page }: FastifyReply): Promise<void> {
    const { account, session } = page.person;
    await this.sessions.endOthers(account.id, session.id);
    page.redirect('/account?done');
  }
}

const readFormId = ({ form }: PageContext) => form['id'] ?? '';
