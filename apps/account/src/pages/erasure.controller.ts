import { Get, Post, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { ErasureRequests } from '../people/erasure-requests.js';
import type { Person } from './page-context.js';
import { ForPerson, PageController } from './person.guard.js';
import { erasePage } from './views/security.view.js';

/** Serves the page that erases an account, after a recent sign-in and the entry of its name. */
@PageController()
export class ErasureController {
  constructor(private readonly erasureRequests: ErasureRequests) {}

  @Get('erase')
  @ForPerson({ recently: true })
  showErasureForm(@Res() { page }: FastifyReply): void {
    const { problem } = page.takeOutcome<{ problem: string }>() ?? {};
    page.show(erasePage, { name: readConfirmationText(page.person), problem });
  }

  @Post('erase')
  @ForPerson({ recently: true })
  async eraseAccount(@Res() { page }: FastifyReply): Promise<void> {
    const { form, person, request, reply } = page;
    const { erase } = page.visit.texts;
    if ((form['name'] ?? '').trim().toLowerCase() !== readConfirmationText(person).toLowerCase())
      return page.redirectWithOutcome('/erase', { problem: erase.wrongName });
    await this.erasureRequests.requestErasure(person.account.id);
    page.cookies.clearSessionCookie(reply);
    delete request.person;
    page.redirectToDone({ message: 'erased' });
  }
}

/** Returns the text that confirms an erasure: the account's name, or its id without a name. */
function readConfirmationText({ account }: Person): string {
  return account.name ?? account.id;
}
