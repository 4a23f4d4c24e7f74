import type { Page, Visit } from '../document.js';
import { withNext } from '../next-path.rules.js';
import type { RefusedForm } from '../refusal.texts.js';
import {
  Hidden,
  NameField,
  PasswordField,
  RefusalNotice,
  type RefusedSecondStep,
  SecondStepForms,
} from './components.js';

/** Reason why a person has to sign in, which the page shows. */
export type SignInNotice = 'signedOut' | 'ended' | 'tooLate' | 'newPassword';

/** Content of a sign-in page. */
export interface SignIn {
  /** Path that opens after the sign-in. */
  next?: string | undefined;
  /** Entered name, or that of the account that signs in again. */
  name?: string | undefined;
  /** True if a signed-in user has to authenticate again. */
  again?: boolean;
  /** Reason why the form was rejected. */
  problem?: string | undefined;
  notice?: SignInNotice | undefined;
  canRegister?: boolean;
  /** Host of the OpenID Connect provider. */
  provider?: string | undefined;
}

/** Returns the sign-in page: name and password, or a button for the provider. */
export function signInPage({ texts }: Visit, of: SignIn): Page {
  const { signIn } = texts;
  const { title } = signIn;
  const again = of.again && signIn.again;
  const notice = of.notice && (
    <p class="notice" role="status">
      {of.notice === 'ended' ? texts.sessionEnded : signIn[of.notice]}
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
      <RefusalNotice>{of.problem}</RefusalNotice>
      <form method="post" action="/sign-in">
        <Hidden values={{ next: of.next }} />
        <NameField texts={texts} value={of.name} autofocus={of.name === undefined} />
        <PasswordField
          texts={texts}
          id="password"
          label={texts.password}
          autofocus={of.name !== undefined}
        />
        <button>{signIn.submit}</button>
      </form>
      <div class="links">
        <a href="/forgot">{signIn.forgot}</a>
        {of.problem !== undefined && <a href="/recover">{texts.forgot.recovery}</a>}
        <a href={withNext('/register', of.next)}>
          {of.canRegister ? signIn.register : texts.register.closedTitle}
        </a>
      </div>
    </>
  );
  return { title, lead: again, isRefused: of.problem !== undefined, body };
}

/** Content of the page of the second step. */
export interface SecondStep {
  /** Sealed proof that name and password were correct. */
  ticket: string;
  next?: string | undefined;
  refused?: RefusedSecondStep | undefined;
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
  const { title, lead } = secondStep;
  return { title, lead, isRefused: of.refused !== undefined, body };
}

/** Returns the page that asks users of a provider for a name, which some apps need. */
export function chooseNamePage(
  { texts }: Visit,
  of: { next?: string | undefined } & RefusedForm,
): Page {
  const { chooseName, chooseNameText } = texts.signIn;
  const problem = of.problems?.name;
  const body = (
    <form method="post" action="/name">
      <Hidden values={{ next: of.next }} />
      <NameField texts={texts} value={of.entered} hint={texts.nameHint} error={problem} autofocus />
      <button>{texts.save}</button>
    </form>
  );
  return { title: chooseName, lead: chooseNameText, isRefused: problem !== undefined, body };
}
