import type { Page, Visit } from '../document.js';
import { withNext } from '../next-path.rules.js';
import type { RefusedForm } from '../refusal.texts.js';
import type { Texts } from '../texts/texts.js';
import { PasskeyForm } from './passkeys.view.js';
import { Hidden, NameField, PasswordField, RefusalNotice } from './components.js';
import { type RefusedSecondStep, SecondStepForms } from './second-step.forms.js';

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
  /** Options for a passkey; undefined at an address without passkeys. */
  passkey?: object | undefined;
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
        <NameField
          texts={texts}
          value={of.name}
          hasPasskeys={of.passkey !== undefined}
          autofocus={of.name === undefined}
        />
        <PasswordField
          texts={texts}
          id="password"
          label={texts.password}
          autofocus={of.name !== undefined}
        />
        <button>{signIn.submit}</button>
      </form>
      {of.passkey && (
        <PasskeyForm
          texts={texts}
          action="/sign-in/passkey"
          options={of.passkey}
          values={{ next: of.next }}
          submit={signIn.passkey}
        />
      )}
      <SignInLinks texts={texts} of={of} />
    </>
  );
  const isRefused = of.problem !== undefined;
  return { title, lead: again, isRefused, hasPasskeyForm: of.passkey !== undefined, body };
}

function SignInLinks({ texts, of }: { texts: Texts; of: SignIn }) {
  const { signIn, forgot, register } = texts;
  return (
    <div class="links">
      <a href="/forgot">{signIn.forgot}</a>
      {of.problem !== undefined && <a href="/recover">{forgot.recovery}</a>}
      <a href={withNext('/register', of.next)}>
        {of.canRegister ? signIn.register : register.closedTitle}
      </a>
    </div>
  );
}

/** Content of the page of the second step. */
export interface SecondStep {
  /** Sealed proof that name and password were correct. */
  ticket: string;
  next?: string | undefined;
  refused?: RefusedSecondStep | undefined;
}

/** Second factors of an account. */
export interface SecondFactors {
  readonly hasTotp: boolean;
  /** Options for a passkey; undefined without one, or at an address without passkeys. */
  readonly passkey: object | undefined;
}

/** Returns the page of the second step: a code of an authenticator app, or a passkey. */
export function codePage({ texts }: Visit, of: SecondStep & SecondFactors): Page {
  const { secondStep } = texts;
  const values = { ticket: of.ticket, next: of.next };
  const missing = of.hasTotp ? undefined : secondStep.passkeyMissing;
  const passkey = of.passkey ? (
    <PasskeyForm
      texts={texts}
      action="/sign-in/passkey"
      options={of.passkey}
      values={values}
      submit={secondStep.passkey}
      missing={missing}
    />
  ) : (
    missing && <p class="quiet">{missing}</p>
  );
  const body = (
    <SecondStepForms
      texts={texts}
      actions={{ code: '/sign-in/code', recovery: '/sign-in/recovery' }}
      values={values}
      refused={of.refused}
      hasTotp={of.hasTotp}
      passkey={passkey}
    >
      <button>{texts.signIn.submit}</button>
    </SecondStepForms>
  );
  const { title, lead, passkeyTitle, passkeyLead } = secondStep;
  return {
    ...(of.hasTotp ? { title, lead } : { title: passkeyTitle, lead: passkeyLead }),
    isRefused: of.refused !== undefined,
    hasPasskeyForm: of.passkey !== undefined,
    body,
  };
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
