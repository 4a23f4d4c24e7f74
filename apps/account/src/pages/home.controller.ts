import { Get, Header, Inject, Injectable, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type AccountConfig, CONFIG } from '../account.config.js';
import { siteAssets } from './site.assets.js';
import { AppPasswords } from '../credentials/app-passwords.js';
import { Devices } from '../gpodder/devices.js';
import { Grants } from '../issuer/grants.js';
import { Emails } from '../people/emails.js';
import { Notices } from '../people/notices.js';
import { RecoveryCodes } from '../people/recovery-codes.js';
import { Sessions } from '../people/sessions.js';
import { ConnectedApps } from './connected.apps.js';
import { type Form, FormOf, QueryOf } from './form.js';
import { isBrowser, PageResponder, startPath } from './page.responder.js';
import { ForPerson, PageController, type Person, PersonOf } from './person.guard.js';
import { type AccountOverview, accountPage } from './views/account.view.js';
import { forwardPage } from './views/failure.view.js';
import { donePage, type Message } from './views/message.view.js';

/**
 * The services that list and end access to an account: OAuth grants, app passwords, sessions,
 * devices.
 */
@Injectable()
export class AccessServices {
  constructor(
    readonly grants: Grants,
    readonly appPasswords: AppPasswords,
    readonly sessions: Sessions,
    readonly devices: Devices,
  ) {}
}

/** Reads the data of the account page. */
@Injectable()
export class Overview {
  constructor(
    private readonly access: AccessServices,
    private readonly recoveryCodes: RecoveryCodes,
    private readonly emails: Emails,
    private readonly notices: Notices,
    private readonly connected: ConnectedApps,
  ) {}

  /** Returns the data of the account page of a person. */
  async read({ account, session }: Person): Promise<AccountOverview> {
    const { id, name, issuer, hasTotp: totp, email, isAdministrator } = account;
    const [apps, appPasswords, devices, sessions, recoveryCodes, notices, podcasts] =
      await Promise.all([
        this.access.grants.listApps(id),
        this.access.appPasswords.list(id),
        this.access.devices.list(id),
        this.access.sessions.list(id),
        this.recoveryCodes.countUnused(id),
        this.notices.list(id),
        this.connected.countPodcasts(id),
      ]);
    return {
      name,
      isAdministrator,
      apps: apps.map(({ grantId, client, ...app }) => ({ ...app, id: grantId, name: client.name })),
      appPasswords,
      podcasts,
      devices,
      notices,
      sessions: sessions.map((each) => ({ ...each, current: each.id === session.id })),
      ...(issuer === null
        ? {
            password: {
              totp,
              passkeys: account.passkeyCount,
              recoveryCodes,
              email,
              mail: this.emails.isEnabled,
            },
          }
        : { provider: new URL(issuer).host }),
    };
  }
}

/** Returns the URLs of this server, for clients that only know its address. */
function serverLinks({ PUBLIC_URL, API_URLS: [api = PUBLIC_URL] = [] }: AccountConfig) {
  return {
    name: 'Podcast Sync',
    api,
    api_description: `${api}/openapi.json`,
    documentation: `${api}/docs`,
    authorization_server: PUBLIC_URL,
    console: `${PUBLIC_URL}/console/`,
  };
}

/** Serves the account page and its forms that end access. Repeating a form has no effect. */
@PageController()
export class HomeController {
  constructor(
    private readonly pages: PageResponder,
    private readonly overview: Overview,
    private readonly access: AccessServices,
    @Inject(CONFIG) private readonly config: AccountConfig,
  ) {}

  /** Redirects browsers to the console or the sign-in. Sends links as JSON to other clients. */
  @Get()
  root(@Req() request: FastifyRequest, @Res() reply: FastifyReply): unknown {
    if (!isBrowser(request)) return reply.send(serverLinks(this.config));
    return this.pages.redirect(reply, request.person ? startPath : '/sign-in');
  }

  @Get('account')
  @ForPerson()
  async account(
    @PersonOf() person: Person,
    @QueryOf() query: Form,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const overview = await this.overview.read(person);
    this.pages.show(reply, (visit) =>
      accountPage(visit, { ...overview, done: query['done'] !== undefined }),
    );
  }

  /** Shows the result of a form, once. */
  @Get('done')
  done(@Res() reply: FastifyReply): void {
    const message = this.pages.takeOutcome<Message>(reply);
    if (!message) return this.pages.redirect(reply, '/account');
    this.pages.show(reply, (visit) => donePage(visit, message));
  }

  /** Shows the page that redirects to another site or an app after a form, once. */
  @Get('forward')
  forward(@Res() reply: FastifyReply): void {
    const target = this.pages.takeOutcome<{ to: string; where?: string }>(reply);
    if (!target) return this.pages.redirect(reply, '/account');
    this.pages.show(reply, (visit) => forwardPage(visit, target.to, target.where));
  }

  /** Returns the web app manifest, with which phones put the site on their home screen. */
  @Get('manifest.webmanifest')
  @Header('content-type', 'application/manifest+json')
  manifest(): object {
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
  robots(): string {
    return 'User-agent: *\nDisallow: /\n';
  }

  @Post('apps/end')
  @ForPerson({ next: '/account' })
  async endApp(
    @PersonOf() { account }: Person,
    @FormOf() form: Form,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    await this.access.grants.endGrant(account.id, (form['id'] ?? '').slice(0, 100));
    this.pages.redirect(reply, '/account?done');
  }

  @Post('app-passwords/revoke')
  @ForPerson({ next: '/account' })
  async revoke(
    @PersonOf() { account }: Person,
    @FormOf() form: Form,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    await this.access.appPasswords.revoke(account.id, form['id'] ?? '');
    this.pages.redirect(reply, '/account?done');
  }

  @Post('devices/forget')
  @ForPerson({ next: '/account' })
  async forget(
    @PersonOf() { account }: Person,
    @FormOf() form: Form,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    await this.access.devices.forget(account.id, form['id'] ?? '');
    this.pages.redirect(reply, '/account?done');
  }

  @Post('sessions/end')
  @ForPerson({ next: '/account' })
  async endSession(
    @PersonOf() { account }: Person,
    @FormOf() form: Form,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    await this.access.sessions.end(account.id, form['id'] ?? '');
    this.pages.redirect(reply, '/account?done');
  }

  @Post('sessions/end-others')
  @ForPerson({ next: '/account' })
  async endOthers(
    @PersonOf() { account, session }: Person,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    await this.access.sessions.endOthers(account.id, session.id);
    this.pages.redirect(reply, '/account?done');
  }
}
