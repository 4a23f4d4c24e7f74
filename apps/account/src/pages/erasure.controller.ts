import { Get, Post, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { Erasure } from '../people/erasure.js';
import { type Form, FormOf } from './form.js';
import { PageResponder, visitFor } from './page.responder.js';
import { ForPerson, PageController, type Person, PersonOf } from './person.guard.js';
import { erasePage } from './views/security.view.js';

/** Serves the page that erases an account, after a recent sign-in and the entry of its name. */
@PageController()
export class ErasureController {
  constructor(
    private readonly pages: PageResponder,
    private readonly erasure: Erasure,
  ) {}

  @Get('erase')
  @ForPerson({ recently: true })
  form(@PersonOf() person: Person, @Res() reply: FastifyReply): void {
    const { problem } = this.pages.takeOutcome<{ problem: string }>(reply) ?? {};
    this.pages.show(reply, (visit) => erasePage(visit, { name: nameOf(person), problem }));
  }

  @Post('erase')
  @ForPerson({ recently: true })
  async erase(
    @PersonOf() person: Person,
    @FormOf() form: Form,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const { erase } = visitFor(reply).texts;
    const name = nameOf(person);
    if ((form['name'] ?? '').trim().toLowerCase() !== name.toLowerCase()) {
      return this.pages.redirectWithOutcome(reply, '/erase', { problem: erase.wrongName });
    }
    await this.erasure.request(person.account.id);
    this.pages.cookies.signOut(reply);
    delete reply.request.person;
    this.pages.redirectToDone(reply, { message: 'erased' });
  }
}

/** Returns the text to enter: the name, or the id of an account without a name. */
function nameOf({ account }: Person): string {
  return account.name ?? account.id;
}
