import type { Page, Visit } from '../document.js';
import { Hidden, NameField, PasswordField, SecondStepForms } from './parts.js';

/** The event before a sign-in that its page mentions. */
export type SignInNotice = 'signedOut' | 'tooLate' | 'newPassword';

/** The content of a sign-in page. */
export interface SignIn {
  /** The path of this site that opens after the sign-in. */
  next?: string | undefined;
  /** The entered name, or the account that signs in again. */
  name?: string;
  /** A signed-in user has to authenticate again. */
  again?: boolean;
  isRefused?: boolean;
  notice?: SignInNotice | undefined;
  canRegister?: boolean;
  /** The host of the OpenID Connect provider. */
  provider?: string | undefined;
}

const query = (next: string | undefined) =>
  next === undefined ? '' : `?${new URLSearchParams({ next }).toString()}`;

/** Returns the sign-in page: name and password, or a button that leads to the provider. */
export function signInPage({ texts }: Visit, of: SignIn): Page {
  const { signIn } = texts;
  const { title } = signIn;
  const again = of.again && signIn.again;
  const notice = of.notice && (
    <p class="notice" role="status">
      {signIn[of.notice]}
    </p>
  );
  if (of.provider !== undefined) {
    const body = (
      <>
        {notice}
        <form method="post" action="/sign-in/provider">
          <Hidden values={{ next: of.next }} />
          <button>{signIn.provider(of.provider)}</button>
        </form>
      </>
    );
    return { title, lead: [again, signIn.providerText(of.provider)], body };
  }
  const body = (
    <>
      {notice}
      {of.isRefused && <Refusal>{signIn.refused}</Refusal>}
      <form method="post" action="/sign-in">
        <Hidden values={{ next: of.next }} />
        <NameField texts={texts} value={of.name} autofocus={of.name === undefined} />
        <PasswordField id="password" label={texts.password} autofocus={of.name !== undefined} />
        <button>{signIn.submit}</button>
      </form>
      <div class="links">
        <a href="/forgot">{signIn.forgot}</a>
        {of.canRegister && <a href={`/register${query(of.next)}`}>{signIn.register}</a>}
      </div>
    </>
  );
  return { title, lead: again, isRefused: of.isRefused, status: of.isRefused ? 403 : 200, body };
}

/** Renders the reason why the server rejected a form as a whole. */
export function Refusal({ children }: { children: string }) {
  return (
    <p class="notice bad" role="alert">
      {children}
    </p>
  );
}

/** The content of the page of the second step. */
export interface SecondStep {
  /** Proves that name and password were correct. */
  ticket: string;
  next?: string | undefined;
  refused?: 'code' | 'recovery';
}

/** Returns the page that asks for a code of an authenticator app after the password. */
export function codePage({ texts }: Visit, of: SecondStep): Page {
  const { secondStep } = texts;
  const body = (
    <SecondStepForms
      texts={texts}
      actions={{ code: '/sign-in/code', recovery: '/sign-in/recovery' }}
      values={{ ticket: of.ticket, next: of.next }}
      refused={of.refused}
    >
      <button>{texts.signIn.submit}</button>
    </SecondStepForms>
  );
  const isRefused = of.refused !== undefined;
  return {
    title: secondStep.title,
    lead: secondStep.lead,
    isRefused,
    status: isRefused ? 403 : 200,
    body,
  };
}

/** Returns the page on which users from a provider choose a name, which some apps need. */
export function chooseNamePage(
  { texts }: Visit,
  of: { next?: string | undefined; name?: string; problem?: string | undefined },
): Page {
  const { chooseName, chooseNameText } = texts.signIn;
  const body = (
    <form method="post" action="/name">
      <Hidden values={{ next: of.next }} />
      <NameField texts={texts} value={of.name} hint={texts.nameHint} error={of.problem} autofocus />
      <button>{texts.save}</button>
    </form>
  );
  return { title: chooseName, lead: chooseNameText, isRefused: of.problem !== undefined, body };
}
