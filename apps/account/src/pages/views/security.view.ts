import { renderSVG } from 'uqr';
import { html } from '../html.js';
import type { Page, Visit } from '../page.js';
import { card, facts, field, head } from './parts.js';

const cancel = ({ texts }: Visit) => html`<a class="button plain" href="/">${texts.cancel}</a>`;

export interface PasswordProblems {
  current?: string | undefined;
  password?: string | undefined;
}

export function changePasswordPage(visit: Visit, of: { name: string; problems?: PasswordProblems }): Page {
  const { texts } = visit;
  const { changePassword } = texts;
  const { current, password } = of.problems ?? {};
  const refused = current !== undefined || password !== undefined;
  const form = html`<form method="post" action="/password">
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
      name: 'current',
      label: changePassword.current,
      type: 'password',
      error: current,
      autocomplete: 'current-password',
      focus: password === undefined,
    })}
    ${field({
      name: 'password',
      label: texts.newPassword,
      type: 'password',
      hint: texts.passwordHint,
      error: password,
      autocomplete: 'new-password',
      focus: current === undefined && password !== undefined,
    })}
    <div class="actions">${cancel(visit)}<button>${changePassword.submit}</button></div>
  </form>`;
  const { title, lead } = changePassword;
  return { title, refused, status: refused ? 400 : 200, body: card(head(title, lead), form) };
}

export function changeEmailPage(
  visit: Visit,
  of: { email: string; canRemove?: boolean; problem?: string | undefined },
): Page {
  const { texts } = visit;
  const { title, lead, submit, hint, remove } = texts.changeEmail;
  const refused = of.problem !== undefined;
  const form = html`<form method="post" action="/email">
    ${field({
      name: 'email',
      label: texts.emailAddress,
      type: 'email',
      value: of.email,
      hint,
      error: of.problem,
      autocomplete: 'email',
      maxLength: 254,
      focus: true,
    })}
    <div class="actions">${cancel(visit)}<button>${submit}</button></div>
  </form>`;
  const removal =
    of.canRemove && html`<form method="post" action="/email/remove"><button class="plain">${remove}</button></form>`;
  return { title, refused, status: refused ? 400 : 200, body: card(head(title, lead), form, removal) };
}

/** The key of a new second step: as a picture, and to type. */
export interface TotpKey {
  /** otpauth://totp/… */
  uri: string;
  /** Base32. */
  secret: string;
}

export function totpPage(visit: Visit, of: { key: TotpKey; refused?: boolean }): Page {
  const { texts } = visit;
  const { totp } = texts;
  const picture = `data:image/svg+xml,${encodeURIComponent(renderSVG(of.key.uri, { border: 4 }))}`;
  const groups = of.key.secret.match(/.{1,4}/g)?.join(' ') ?? '';
  const form = html`<form method="post" action="/totp">
    ${field({
      name: 'code',
      label: texts.code,
      hint: totp.enter,
      error: of.refused ? totp.refused : undefined,
      autocomplete: 'one-time-code',
      inputMode: 'numeric',
      className: 'code',
      maxLength: 8,
      focus: of.refused ?? false,
    })}
    <div class="actions">${cancel(visit)}<button>${totp.submit}</button></div>
  </form>`;
  return {
    title: totp.title,
    refused: of.refused ?? false,
    status: of.refused ? 400 : 200,
    body: card(
      head(totp.title, totp.lead),
      html`<div class="stack">
        <p>${totp.scan}</p>
        <img class="qr" src="${picture}" alt="${totp.qr}" width="240" height="240" />
        <p class="small">${totp.key}</p>
        <p class="secret">${groups}</p>
      </div>`,
      form,
    ),
  };
}

export function totpOffPage(visit: Visit): Page {
  const { offTitle, offLead, offSubmit } = visit.texts.totp;
  const form = html`<form method="post" action="/totp/off">
    <div class="actions">${cancel(visit)}<button class="danger">${offSubmit}</button></div>
  </form>`;
  return { title: offTitle, body: card(head(offTitle, offLead), form) };
}

export function recoveryCodesPage(visit: Visit): Page {
  const { title, lead, submit } = visit.texts.recovery;
  const form = html`<form method="post" action="/recovery-codes">
    <div class="actions">${cancel(visit)}<button>${submit}</button></div>
  </form>`;
  return { title, body: card(head(title, lead), form) };
}

/** New recovery codes: shown only in the answer that made them. */
export function shownRecoveryCodesPage({ texts }: Visit, codes: readonly string[]): Page {
  const { shownTitle, shownLead, list, kept } = texts.recovery;
  return {
    title: shownTitle,
    body: card(
      head(shownTitle, shownLead),
      html`<ol class="secret codes" aria-label="${list}">
        ${codes.map((code) => html`<li>${code}</li>`)}
      </ol>`,
      html`<p><a class="button" href="/">${kept}</a></p>`,
    ),
  };
}

export interface AppPasswordForm {
  label?: string;
  problem?: string | undefined;
}

export function appPasswordPage(visit: Visit, of: AppPasswordForm = {}): Page {
  const { appPassword } = visit.texts;
  const choice = (name: string, value: string, text: string, checked: boolean) =>
    html`<label class="choice"
      ><input type="radio" name="${name}" value="${value}" ${checked && html`checked`} /> ${text}</label
    >`;
  const refused = of.problem !== undefined;
  const form = html`<form method="post" action="/app-passwords">
    ${field({
      name: 'label',
      label: appPassword.label,
      value: of.label ?? '',
      hint: appPassword.labelHint,
      error: of.problem,
      autocomplete: 'off',
      maxLength: 64,
      focus: true,
    })}
    <fieldset class="field">
      <legend>${appPassword.rights}</legend>
      <div class="choices">
        ${choice('rights', 'all', appPassword.rightsAll, true)}
        ${choice('rights', 'read', appPassword.rightsRead, false)}
      </div>
    </fieldset>
    <fieldset class="field">
      <legend>${appPassword.expires}</legend>
      <div class="choices">
        ${choice('expires', 'never', appPassword.expiry.never, true)}
        ${choice('expires', 'month', appPassword.expiry.month, false)}
        ${choice('expires', 'year', appPassword.expiry.year, false)}
      </div>
    </fieldset>
    <div class="actions">${cancel(visit)}<button>${appPassword.submit}</button></div>
  </form>`;
  const { title, lead } = appPassword;
  return { title, refused, status: refused ? 400 : 200, body: card(head(title, lead), form) };
}

/** A new app password: shown only in the answer that made it. */
export function shownAppPasswordPage(
  { texts }: Visit,
  of: { label: string; name: string | null; secret: string; server?: string | undefined },
): Page {
  const { shownTitle, shownLead, server, name, secret, bearer, done } = texts.appPassword;
  return {
    title: shownTitle,
    body: card(
      head(shownTitle, shownLead(of.label)),
      html`<div class="stack">
        <h2 class="hidden">${secret}</h2>
        <p class="secret">${of.secret}</p>
      </div>`,
      facts(of.server !== undefined && [server, of.server], of.name !== null && [name, of.name]),
      html`<p class="quiet small">${bearer}</p>`,
      html`<p><a class="button" href="/">${done}</a></p>`,
    ),
  };
}

/** The second step of an erasure: the name has to be typed. */
export function erasePage({ texts }: Visit, of: { name: string; problem?: string | undefined }): Page {
  const { erase } = texts;
  const refused = of.problem !== undefined;
  const form = html`<form method="post" action="/erase">
    ${field({
      name: 'name',
      label: erase.confirm(of.name),
      error: of.problem,
      autocomplete: 'off',
      maxLength: 64,
    })}
    <div class="actions">
      <a class="button plain" href="/">${erase.keep}</a>
      <button class="danger">${erase.submit}</button>
    </div>
  </form>`;
  return {
    title: erase.title,
    refused,
    status: refused ? 400 : 200,
    body: card(head(erase.title, erase.lead, erase.exportFirst), form),
  };
}
