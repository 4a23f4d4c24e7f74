import type { Page, Visit } from '../document.js';
import {
  Hidden,
  HiddenName,
  LinkButton,
  NameField,
  NewPasswordField,
  RecoveryCodeField,
} from './parts.js';
import { Refusal } from './sign-in.view.js';

/** The content of a registration page. */
export interface Registration {
  action: string;
  kind: 'first' | 'invite' | 'open';
  name?: string;
  next?: string | undefined;
  problems?: { name?: string | undefined; password?: string | undefined };
}

/** Returns the page for a new account: the first one, by an invitation, or by open registration. */
export function registerPage({ texts }: Visit, of: Registration): Page {
  const { register } = texts;
  const { name, password } = of.problems ?? {};
  const isOnlyPassword = name === undefined && password !== undefined;
  const body = (
    <>
      <form method="post" action={of.action}>
        <Hidden values={{ next: of.next }} />
        <NameField
          texts={texts}
          value={of.name}
          hint={texts.nameHint}
          error={name}
          autofocus={!isOnlyPassword}
        />
        <NewPasswordField
          texts={texts}
          label={texts.password}
          error={password}
          autofocus={isOnlyPassword}
        />
        <button>{register.submit}</button>
      </form>
      {of.kind !== 'first' && (
        <div class="links">
          <a href="/sign-in">{register.haveOne}</a>
        </div>
      )}
    </>
  );
  const isRefused = name !== undefined || password !== undefined;
  return { title: register[`${of.kind}Title`], lead: register[`${of.kind}Lead`], isRefused, body };
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

/** Returns the page of a server without open registration. */
export function registrationClosedPage({ texts: { register, signIn } }: Visit): Page {
  return messagePage(
    register.closedTitle,
    register.closedText,
    { href: '/sign-in', text: signIn.title },
    403,
  );
}

/** Returns the page for a link that was used, expired or never existed. */
export function linkGonePage({ texts: { link, signIn } }: Visit): Page {
  return messagePage(link.goneTitle, link.goneText, { href: '/sign-in', text: signIn.title }, 410);
}

/** Returns the page for a forgotten password: by mail, or by a recovery code without mail. */
export function forgotPage({ texts }: Visit, of: { mail: boolean }): Page {
  const { forgot } = texts;
  const body = (
    <>
      {of.mail && (
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
  return { title: forgot.title, lead: of.mail ? forgot.lead : forgot.withoutMail, body };
}

/** Returns the page after a reset request. It does not reveal if the account exists. */
export function forgotSentPage({ texts: { forgot } }: Visit): Page {
  return messagePage(forgot.sentTitle, forgot.sentText);
}

/** Returns the page that takes a recovery code and a new password. */
export function recoverPage(
  { texts }: Visit,
  of: { name?: string; isRefused?: boolean; passwordProblem?: string | undefined },
): Page {
  const { forgot, secondStep } = texts;
  const body = (
    <>
      {of.isRefused && <Refusal>{forgot.refused}</Refusal>}
      <form method="post" action="/recover">
        <NameField texts={texts} value={of.name} autofocus={of.passwordProblem === undefined} />
        <RecoveryCodeField texts={texts} />
        <NewPasswordField texts={texts} error={of.passwordProblem} />
        <button>{forgot.resetSubmit}</button>
      </form>
    </>
  );
  const isRefused = of.isRefused || of.passwordProblem !== undefined;
  const status = of.isRefused ? 403 : undefined;
  return {
    title: secondStep.recoveryTitle,
    lead: secondStep.recoveryLead,
    isRefused,
    status,
    body,
  };
}

/** Returns the page that sets a new password by a link. */
export function resetPage(
  { texts }: Visit,
  of: { action: string; name: string; problem?: string | undefined },
): Page {
  const { forgot } = texts;
  const body = (
    <form method="post" action={of.action}>
      <HiddenName name={of.name} />
      <NewPasswordField texts={texts} error={of.problem} autofocus />
      <button>{forgot.resetSubmit}</button>
    </form>
  );
  return {
    title: forgot.title,
    lead: forgot.resetLead(of.name),
    isRefused: of.problem !== undefined,
    body,
  };
}

/** Returns the page whose button confirms an address, since mail programs open links. */
export function verifyPage(
  { texts: { verify } }: Visit,
  of: { action: string; email: string },
): Page {
  const body = (
    <form method="post" action={of.action}>
      <button>{verify.submit}</button>
    </form>
  );
  return { title: verify.title, lead: verify.lead(of.email), body };
}

/** Returns the page after the confirmation of an e-mail address. */
export function verifiedPage({ texts: { verify, account } }: Visit): Page {
  return messagePage(verify.doneTitle, verify.doneText, { href: '/', text: account });
}
