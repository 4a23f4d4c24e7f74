import { html } from '../html.js';
import type { Page, Visit } from '../page.js';
import { card, field, head, hidden, refusal } from './parts.js';

/** Somebody signed out, took too long, or has a new password. */
export type SignInNotice = 'signedOut' | 'tooLate' | 'newPassword';

export interface SignIn {
  /** A path of ours to which sign-in leads. */
  next?: string | undefined;
  /** What was entered, or who has to show again that it is them. */
  name?: string;
  /** Somebody is signed in, but has to show it again. */
  again?: boolean;
  refused?: boolean;
  /** What happened before. */
  notice?: SignInNotice | undefined;
  /** The app that waits for it. */
  app?: string | undefined;
  /** Whether strangers may make an account. */
  canRegister?: boolean;
  /** The host of the provider that signs people in here. */
  provider?: string | undefined;
}

const query = (next: string | undefined) => (next === undefined ? '' : `?${new URLSearchParams({ next })}`);

/** Sign-in: name and password, or the way to a provider. */
export function signInPage({ texts }: Visit, of: SignIn): Page {
  const { signIn } = texts;
  const lead = of.again ? signIn.again : of.app !== undefined && signIn.to(of.app);
  const notice = of.notice && html`<p class="notice" role="status">${signIn[of.notice]}</p>`;
  if (of.provider !== undefined) {
    const form = html`<form method="post" action="/sign-in/provider">
      ${hidden({ next: of.next })}
      <button>${signIn.provider(of.provider)}</button>
    </form>`;
    return {
      title: signIn.title,
      body: card(head(signIn.title, lead, signIn.providerText(of.provider)), notice, form),
    };
  }
  const form = html`<form method="post" action="/sign-in">
    ${hidden({ next: of.next })}
    ${field({
      name: 'name',
      label: texts.name,
      value: of.name ?? '',
      autocomplete: 'username',
      maxLength: 64,
      focus: of.name === undefined,
    })}
    ${field({
      name: 'password',
      label: texts.password,
      type: 'password',
      autocomplete: 'current-password',
      focus: of.name !== undefined,
    })}
    <button>${signIn.submit}</button>
  </form>`;
  const links = html`<div class="links">
    <a href="/forgot">${signIn.forgot}</a>
    ${of.canRegister && html`<a href="/register${query(of.next)}">${signIn.register}</a>`}
  </div>`;
  return {
    title: signIn.title,
    refused: of.refused ?? false,
    status: of.refused ? 403 : 200,
    body: card(head(signIn.title, lead), notice, refusal(of.refused ? signIn.refused : undefined), form, links),
  };
}

export interface SecondStep {
  /** Stands for the name and the password that were right. */
  ticket: string;
  next?: string | undefined;
  /** Which of both codes is wrong. */
  refused?: 'code' | 'recovery';
}

/** The code of an authenticator app, after the password. */
export function codePage({ texts }: Visit, of: SecondStep): Page {
  const { secondStep } = texts;
  const form = html`<form method="post" action="/sign-in/code">
    ${hidden({ ticket: of.ticket, next: of.next })}
    ${field({
      name: 'code',
      label: texts.code,
      hint: secondStep.codeHint,
      error: of.refused === 'code' ? secondStep.refused : undefined,
      autocomplete: 'one-time-code',
      inputMode: 'numeric',
      className: 'code',
      maxLength: 8,
      focus: of.refused !== 'recovery',
    })}
    <button>${texts.signIn.submit}</button>
  </form>`;
  const other = html`<details class="links" ${of.refused === 'recovery' && html`open`}>
    <summary>${secondStep.lost}</summary>
    <form method="post" action="/sign-in/recovery">
      <p class="quiet">${secondStep.recoveryLead}</p>
      ${hidden({ ticket: of.ticket, next: of.next })}
      ${field({
        name: 'recovery',
        label: secondStep.recoveryCode,
        error: of.refused === 'recovery' ? secondStep.recoveryRefused : undefined,
        autocomplete: 'off',
        maxLength: 64,
        focus: of.refused === 'recovery',
      })}
      <button class="plain">${texts.signIn.submit}</button>
    </form>
  </details>`;
  return {
    title: secondStep.title,
    refused: of.refused !== undefined,
    status: of.refused ? 403 : 200,
    body: card(head(secondStep.title, secondStep.lead), form, other),
  };
}

/** Who comes from a provider chooses a name for apps that ask for one. */
export function chooseNamePage(
  { texts }: Visit,
  of: { next?: string | undefined; name?: string; problem?: string | undefined },
): Page {
  const { signIn } = texts;
  const form = html`<form method="post" action="/name">
    ${hidden({ next: of.next })}
    ${field({
      name: 'name',
      label: texts.name,
      value: of.name ?? '',
      hint: texts.nameHint,
      error: of.problem,
      autocomplete: 'username',
      maxLength: 64,
      focus: true,
    })}
    <button>${texts.save}</button>
  </form>`;
  const refused = of.problem !== undefined;
  return {
    title: signIn.chooseName,
    refused,
    status: refused ? 400 : 200,
    body: card(head(signIn.chooseName, signIn.chooseNameText), form),
  };
}
