import { Get, Injectable, Post, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { AppPasswords } from '../credentials/app-passwords.js';
import { Devices } from '../gpodder/devices.js';
import { Grants } from '../issuer/grants.js';
import { Emails } from '../people/emails.js';
import { RecoveryCodes } from '../people/recovery-codes.js';
import { Sessions } from '../people/sessions.js';
import { type Form, FormOf, QueryOf } from './form.js';
import { PageController } from './page.controller.js';
import { Pages } from './pages.js';
import { ForPerson, type Person, PersonOf } from './person.guard.js';
import { type AccountOverview, accountPage } from './views/account.view.js';

/** What somebody or an app has access by. */
@Injectable()
export class Access {
  constructor(
    readonly grants: Grants,
    readonly appPasswords: AppPasswords,
    readonly sessions: Sessions,
    readonly devices: Devices,
  ) {}
}

/** Brings together what the home of an account shows. */
@Injectable()
export class Overview {
  constructor(
    private readonly access: Access,
    private readonly recoveryCodes: RecoveryCodes,
    private readonly emails: Emails,
  ) {}

  async of({ account, session }: Person): Promise<AccountOverview> {
    const { id, name, issuer, hasTotp, email } = account;
    const [apps, appPasswords, devices, sessions, recoveryCodes] = await Promise.all([
      this.access.grants.listApps(id),
      this.access.appPasswords.list(id),
      this.access.devices.list(id),
      this.access.sessions.list(id),
      this.recoveryCodes.left(id),
    ]);
    return {
      name,
      apps: apps.map(({ grantId, client, ...app }) => ({ ...app, id: grantId, name: client.name })),
      appPasswords,
      devices,
      sessions: sessions.map((each) => ({ ...each, current: each.id === session.id })),
      ...(issuer === null
        ? { password: { totp: hasTotp, recoveryCodes, email, mail: this.emails.areOn } }
        : { provider: new URL(issuer).host }),
    };
  }
}

/** The home of an account, and what ends there with one button. Twice is once. */
@PageController()
export class HomeController {
  constructor(
    private readonly pages: Pages,
    private readonly overview: Overview,
    private readonly access: Access,
  ) {}

  @Get()
  @ForPerson({ next: '/' })
  async home(@PersonOf() person: Person, @QueryOf() query: Form, @Res() reply: FastifyReply): Promise<void> {
    const overview = await this.overview.of(person);
    this.pages.show(reply, (visit) => accountPage(visit, { ...overview, done: query['done'] !== undefined }));
  }

  @Post('apps/end')
  @ForPerson({ next: '/' })
  async endApp(@PersonOf() { account }: Person, @FormOf() form: Form, @Res() reply: FastifyReply): Promise<void> {
    await this.access.grants.endGrant(account.id, (form['id'] ?? '').slice(0, 100));
    this.pages.go(reply, '/?done');
  }

  @Post('app-passwords/revoke')
  @ForPerson({ next: '/' })
  async revoke(@PersonOf() { account }: Person, @FormOf() form: Form, @Res() reply: FastifyReply): Promise<void> {
    await this.access.appPasswords.revoke(account.id, form['id'] ?? '');
    this.pages.go(reply, '/?done');
  }

  @Post('devices/forget')
  @ForPerson({ next: '/' })
  async forget(@PersonOf() { account }: Person, @FormOf() form: Form, @Res() reply: FastifyReply): Promise<void> {
    await this.access.devices.forget(account.id, form['id'] ?? '');
    this.pages.go(reply, '/?done');
  }

  @Post('sessions/end')
  @ForPerson({ next: '/' })
  async endSession(@PersonOf() { account }: Person, @FormOf() form: Form, @Res() reply: FastifyReply): Promise<void> {
    await this.access.sessions.end(account.id, form['id'] ?? '');
    this.pages.go(reply, '/?done');
  }

  @Post('sessions/end-others')
  @ForPerson({ next: '/' })
  async endOthers(@PersonOf() person: Person, @Res() reply: FastifyReply): Promise<void> {
    for (const { id } of await this.access.sessions.list(person.account.id))
      if (id !== person.session.id) await this.access.sessions.end(person.account.id, id);
    this.pages.go(reply, '/?done');
  }
}
