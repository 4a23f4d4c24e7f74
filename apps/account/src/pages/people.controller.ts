import {
  BadRequestException,
  Get,
  Inject,
  NotFoundException,
  Param,
  Post,
  Res,
} from '@nestjs/common';
import { guidSchema } from '#contracts';
import type { Log } from '#runtime';
import type { FastifyReply } from 'fastify';
import { type AccountConfig, CONFIG, LOG } from '../account.config.js';
import { type Account, Accounts } from '../people/accounts.js';
import { Administrators } from '../people/administrators.js';
import { Emails } from '../people/emails.js';
import { Links } from '../people/links.js';
import { Refusal, type RefusalCode } from '../people/refusal.js';
import type { Person } from './page-context.js';
import { ForPerson, PageController } from './person.guard.js';
import {
  type AccountAction,
  accountActions,
  type Invitation,
  invitationPage,
  type ManagedPerson,
  peoplePage,
  personPage,
} from './views/people.view.js';

const accountsPerPage = 50;

/** Result of an administrator's action. The page of the account shows it once. */
type ActionOutcome = Pick<ManagedPerson, 'done' | 'url'> & { readonly problem?: RefusalCode };

/** Serves the pages on which administrators manage accounts. Each change is logged. */
@PageController()
export class PeopleController {
  constructor(
    private readonly accounts: Accounts,
    private readonly administrators: Administrators,
    private readonly links: Links,
    private readonly emails: Emails,
    @Inject(CONFIG) private readonly config: Pick<AccountConfig, 'REGISTRATION'>,
    @Inject(LOG) private readonly log: Log,
  ) {}

  @Get('people')
  @ForPerson({ administrator: true })
  async showPeople(@Res() { page }: FastifyReply): Promise<void> {
    const { query } = page;
    const name = (query['name'] ?? '').trim().slice(0, 64);
    const { data: afterId } = guidSchema.safeParse(query['after']);
    const after = afterId === undefined ? undefined : await this.accounts.find(afterId);
    // Reads one account more than a page has, to know if there is a next page.
    const foundAccounts = await this.accounts.list({ name, after, limit: accountsPerPage + 1 });
    const accounts = foundAccounts.slice(0, accountsPerPage);
    page.show(peoplePage, {
      accounts,
      name,
      isFirst: after === undefined,
      next: foundAccounts.length > accountsPerPage ? accounts.at(-1)?.id : undefined,
      registration: this.config.REGISTRATION,
    });
  }

  @Get('people/invitation')
  @ForPerson({ administrator: true, recently: true })
  showInvitationForm(@Res() { page }: FastifyReply): void {
    const outcome = page.takeOutcome<Omit<Invitation, 'mail'>>();
    page.show(invitationPage, { mail: this.emails.hasMailServer, ...outcome });
  }

  @Post('people/invitation')
  @ForPerson({ administrator: true, recently: true })
  async createInvitation(@Res() { page }: FastifyReply): Promise<void> {
    const { person: administrator, visit } = page;
    const email = (page.form['email'] ?? '').trim();
    const { accountId, id: session } = administrator.session;
    const path = '/people/invitation';
    try {
      const invitationLink = email
        ? await this.emails.sendInvitation(email, visit.language, { accountId, session })
        : await this.links.createLink('invite', { session });
      this.logAction(administrator, 'invite');
      page.redirectWithOutcome(
        path,
        invitationLink ? { url: invitationLink.url } : { sentTo: email },
      );
    } catch (error) {
      page.refuse(path, error, { entered: email });
    }
  }

  @Get('people/:id')
  @ForPerson({ administrator: true, recently: true })
  async showPerson(@Param('id') id: string, @Res() { page }: FastifyReply): Promise<void> {
    const account = await this.findAccount(id);
    const { problem, ...outcome } = page.takeOutcome<ActionOutcome>() ?? {};
    const problemText = problem && page.visit.texts.people.problems[problem];
    const isSelf = id === page.person.account.id;
    page.show(personPage, {
      account,
      isSelf,
      ...outcome,
      ...(problemText && { problem: problemText }),
    });
  }

  @Post('people/:id')
  @ForPerson({ administrator: true, recently: true })
  async changePerson(@Param('id') id: string, @Res() { page }: FastifyReply): Promise<void> {
    const { form, person: administrator } = page;
    const action = accountActions.find((candidate) => candidate === form['action']);
    if (!action) throw new BadRequestException('unknown action');
    const { id: accountId } = await this.findAccount(id);
    let url: string | undefined;
    try {
      url = await this.executeAction(action, accountId, administrator);
    } catch (error) {
      const { problems } = page.visit.texts.people;
      if (!(error instanceof Refusal && problems[error.code])) throw error;
      return page.redirectRefused(`/people/${id}`, { problem: error.code }, error);
    }
    this.logAction(administrator, action, accountId);
    // A person who is no longer administrator cannot open the page of an account.
    if (action === 'dismiss' && accountId === administrator.account.id)
      return page.redirect('/account?done');
    page.redirectWithOutcome(`/people/${id}`, { done: action, url });
  }

  /** Runs an action on an account. @returns the URL of a new reset link; otherwise undefined. */
  private async executeAction(
    action: AccountAction,
    accountId: string,
    { session }: Person,
  ): Promise<string | undefined> {
    switch (action) {
      case 'reset':
        return (await this.links.createLink('reset', { accountId, session: session.id })).url;
      case 'disable':
        await this.accounts.disable(accountId);
        break;
      case 'enable':
        await this.accounts.enable(accountId);
        break;
      case 'appoint':
        await this.administrators.appoint(accountId, session.id);
        break;
      case 'dismiss':
        await this.administrators.dismiss(accountId);
    }
    return undefined;
  }

  /** Returns the account with this id. @throws NotFoundException if there is none. */
  private async findAccount(id: string): Promise<Account> {
    const account = guidSchema.safeParse(id).success ? await this.accounts.find(id) : undefined;
    if (!account) throw new NotFoundException();
    return account;
  }

  private logAction(
    administrator: Person,
    action: AccountAction | 'invite',
    account?: string,
  ): void {
    const fields = { action, administrator: administrator.account.id, account };
    this.log.info(fields, 'administrator action completed');
  }
}
