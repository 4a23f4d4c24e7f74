import type { Page, Visit } from '../document.js';
import type { RefusedForm } from '../refusal-texts.js';
import {
  HiddenFields,
  HiddenName,
  LinkButton,
  NameField,
  NewPasswordField,
  RecoveryCodeField,
  RefusalNotice,
} from './controls.js';

/** Content of a registration page. */
export interface RegistrationContent extends RefusedForm {
  /** Path to which the form is sent. */
  readonly action: string;
  readonly kind: 'first' | 'invite' | 'open';
  /** Path that opens after the registration. */
  readonly next?: string | undefined;
}

/** Returns the registration page: of the first account, by invitation, or open. */
export function registerPage({ texts }: Visit, content: RegistrationContent): Page {
  const { register } = texts;
  const { name, password } = content.problems ?? {};
  const isOnlyPasswordRefused = name === undefined && password !== undefined;
  const body = (
    <>
      <RefusalNotice>{content.problems?.form}</RefusalNotice>
      <form method="post" action={content.action}>
        <HiddenFields values={{ next: content.next }} />
        <NameField
          texts={texts}
          value={content.entered}
          hint={texts.nameHint}
          error={name}
          autofocus={!isOnlyPasswordRefused}
        />
        <NewPasswordField
          texts={texts}
          label={texts.password}
          error={password}
          autofocus={isOnlyPasswordRefused}
        />
        <button>{register.submit}</button>
      </form>
      {content.kind !== 'first' && (
        <div class="links">
          <a href="/sign-in">{register.haveOne}</a>
        </div>
      )}
    </>
  );
  const isRefused = content.problems !== undefined;
  return {
    title: register[`${content.kind}Title`],
    lead: register[`${content.kind}Lead`],
    isRefused,
    body,
  };
}

/** Returns a page with a message and at most one link. */
export function messagePage(
  title: string,
  lead: string,
  next?: { href: string; text: string },
  status = 200,
): Page {
  return {
    title,
    lead,
    status,
    body: next && <LinkButton href={next.href}>{next.text}</LinkButton>,
  };
}

/** Returns the page that explains how to get an account while registration is closed. */
export function registrationClosedPage({ texts: { register, signIn } }: Visit): Page {
  return messagePage(
    register.closedTitle,
    register.closedText,
    { href: '/sign-in', text: signIn.title },
    403,
  );
}

/** Returns the page for a used, expired or unknown one-time link. */
export function linkGonePage({ isSignedIn, texts: { link, signIn, account } }: Visit): Page {
  const next = isSignedIn
    ? { href: '/account', text: account }
    : { href: '/sign-in', text: signIn.title };
  return messagePage(link.goneTitle, link.goneText, next, 410);
}

/** Returns the page for a used or expired request of an app, with what to do in the app. */
export function appRequestGonePage({ texts: { link, account } }: Visit): Page {
  return messagePage(link.appTitle, link.appText, { href: '/account', text: account }, 410);
}

/** Returns the page for a forgotten password: a link by mail, or a recovery code. */
export function forgotPage({ texts }: Visit, content: { mail: boolean } & RefusedForm): Page {
  const { forgot } = texts;
  const body = (
    <>
      <RefusalNotice>{content.problems?.form}</RefusalNotice>
      {content.mail && (
        <form method="post" action="/forgot">
          <NameField texts={texts} autofocus />
          <button>{forgot.submit}</button>
        </form>
      )}
      <div class="links">
        <a href="/recover">{forgot.recovery}</a>
        <a href="/sign-in">{texts.back}</a>
      </div>
    </>
  );
  const lead = content.mail ? forgot.lead : forgot.withoutMail;
  return { title: forgot.title, lead, isRefused: content.problems !== undefined, body };
}

/** Returns the page that asks for a recovery code and a new password. */
export function recoverPage({ texts }: Visit, { entered, problems }: RefusedForm): Page {
  const { forgot, secondStep } = texts;
  const password = problems?.password;
  const body = (
    <>
      <RefusalNotice>{problems?.form}</RefusalNotice>
      <form method="post" action="/recover">
        <NameField texts={texts} value={entered} autofocus={password === undefined} />
        <RecoveryCodeField texts={texts} />
        <NewPasswordField texts={texts} error={password} />
        <button>{forgot.resetSubmit}</button>
      </form>
    </>
  );
  const { recoveryTitle: title, recoveryLead: lead } = secondStep;
  return { title, lead, isRefused: problems !== undefined, body };
}

/** Returns the page that a password-reset link opens. */
export function resetPage(
  { texts }: Visit,
  { action, name, problems }: { action: string; name: string } & RefusedForm,
): Page {
  const { forgot } = texts;
  const body = (
    <>
      <RefusalNotice>{problems?.form}</RefusalNotice>
      <form method="post" action={action}>
        <HiddenName name={name} />
        <NewPasswordField texts={texts} error={problems?.password} autofocus />
        <button>{forgot.resetSubmit}</button>
      </form>
    </>
  );
  const { title } = forgot;
  return { title, lead: forgot.resetLead(name), isRefused: problems !== undefined, body };
}

/**
 * Returns the page with a button that confirms an e-mail address. Opening the page confirms
 * nothing, because mail programs open links too.
 */
export function verifyPage(
  { texts: { verify } }: Visit,
  content: { action: string; email: string },
): Page {
  const body = (
    <form method="post" action={content.action}>
      <button>{verify.submit}</button>
    </form>
  );
  return { title: verify.title, lead: verify.lead(content.email), body };
}
