import { html } from '../html.js';
import type { Page, Visit } from '../page.js';
import { card, field, head, hidden, refusal } from './parts.js';

export interface RegistrationProblems {
  name?: string | undefined;
  password?: string | undefined;
}

export interface Registration {
  /** Where its form goes: the path of the link, or that of open registration. */
  action: string;
  kind: 'first' | 'invite' | 'open';
  name?: string;
  next?: string | undefined;
  problems?: RegistrationProblems;
}

/** A new account: the first one, by an invitation, or by anybody. */
export function registerPage({ texts }: Visit, of: Registration): Page {
  const { register } = texts;
  const problems = of.problems ?? {};
  const title = register[`${of.kind}Title`];
  const refused = Object.values(problems).some((problem) => problem !== undefined);
  const form = html`<form method="post" action="${of.action}">
    ${hidden({ next: of.next })}
    ${field({
      name: 'name',
      label: texts.name,
      value: of.name ?? '',
      hint: texts.nameHint,
      error: problems.name,
      autocomplete: 'username',
      maxLength: 64,
      focus: !refused || problems.name !== undefined,
    })}
    ${field({
      name: 'password',
      label: texts.password,
      type: 'password',
      hint: texts.passwordHint,
      error: problems.password,
      autocomplete: 'new-password',
      focus: problems.name === undefined && problems.password !== undefined,
    })}
    <button>${register.submit}</button>
  </form>`;
  const links = of.kind !== 'first' && html`<div class="links"><a href="/sign-in">${register.haveOne}</a></div>`;
  return {
    title,
    refused,
    status: refused ? 400 : 200,
    body: card(head(title, register[`${of.kind}Lead`]), form, links),
  };
}

/** A page that only says something, with one way on. */
export function messagePage(title: string, text: string, way?: { to: string; text: string }, status = 200): Page {
  const on = way && html`<p><a class="button" href="${way.to}">${way.text}</a></p>`;
  return { title, status, body: card(head(title, text), on) };
}

export function registrationClosedPage({ texts }: Visit): Page {
  const { closedTitle, closedText } = texts.register;
  return messagePage(closedTitle, closedText, { to: '/sign-in', text: texts.signIn.title }, 403);
}

export function linkGonePage({ texts }: Visit): Page {
  return messagePage(texts.link.goneTitle, texts.link.goneText, { to: '/sign-in', text: texts.signIn.title }, 410);
}

/** A forgotten password: by mail where this server sends any, else by a recovery code. */
export function forgotPage({ texts }: Visit, of: { mail: boolean }): Page {
  const { forgot } = texts;
  const form = html`<form method="post" action="/forgot">
    ${field({ name: 'name', label: texts.name, autocomplete: 'username', maxLength: 64, focus: true })}
    <button>${forgot.submit}</button>
  </form>`;
  const links = html`<div class="links">
    <a href="/recover">${forgot.recovery}</a>
    <a href="/sign-in">${texts.back}</a>
  </div>`;
  return {
    title: forgot.title,
    body: card(head(forgot.title, of.mail ? forgot.lead : forgot.withoutMail), of.mail && form, links),
  };
}

export function forgotSentPage({ texts }: Visit): Page {
  return messagePage(texts.forgot.sentTitle, texts.forgot.sentText);
}

/** A recovery code in the place of the password or of the second step, and a new password. */
export function recoverPage(
  { texts }: Visit,
  of: { name?: string; refused?: boolean; passwordProblem?: string | undefined },
): Page {
  const { forgot, secondStep } = texts;
  const refused = of.refused === true || of.passwordProblem !== undefined;
  const form = html`<form method="post" action="/recover">
    ${field({
      name: 'name',
      label: texts.name,
      value: of.name ?? '',
      autocomplete: 'username',
      maxLength: 64,
      focus: of.passwordProblem === undefined,
    })}
    ${field({
      name: 'recovery',
      label: secondStep.recoveryCode,
      autocomplete: 'off',
      maxLength: 64,
    })}
    ${field({
      name: 'password',
      label: texts.newPassword,
      type: 'password',
      hint: texts.passwordHint,
      error: of.passwordProblem,
      autocomplete: 'new-password',
      focus: of.passwordProblem !== undefined,
    })}
    <button>${forgot.resetSubmit}</button>
  </form>`;
  return {
    title: secondStep.recoveryTitle,
    refused,
    status: of.refused ? 403 : refused ? 400 : 200,
    body: card(
      head(secondStep.recoveryTitle, secondStep.recoveryLead),
      refusal(of.refused ? forgot.refused : undefined),
      form,
    ),
  };
}

/** A new password by a link. */
export function resetPage({ texts }: Visit, of: { action: string; name: string; problem?: string | undefined }): Page {
  const { forgot } = texts;
  const form = html`<form method="post" action="${of.action}">
    <input
      class="hidden"
      type="text"
      name="username"
      value="${of.name}"
      autocomplete="username"
      tabindex="-1"
      aria-hidden="true"
      readonly
    />
    ${field({
      name: 'password',
      label: texts.newPassword,
      type: 'password',
      hint: texts.passwordHint,
      error: of.problem,
      autocomplete: 'new-password',
      focus: true,
    })}
    <button>${forgot.resetSubmit}</button>
  </form>`;
  const refused = of.problem !== undefined;
  return {
    title: forgot.title,
    refused,
    status: refused ? 400 : 200,
    body: card(head(forgot.title, forgot.resetLead(of.name)), form),
  };
}

/** An e-mail address is confirmed by pressing a button: mail programs open links by themselves. */
export function verifyPage({ texts }: Visit, of: { action: string; email: string }): Page {
  const { verify } = texts;
  const form = html`<form method="post" action="${of.action}"><button>${verify.submit}</button></form>`;
  return { title: verify.title, body: card(head(verify.title, verify.lead(of.email)), form) };
}

export function verifiedPage({ texts }: Visit): Page {
  const { doneTitle, doneText } = texts.verify;
  return messagePage(doneTitle, doneText, { to: '/', text: texts.account });
}
