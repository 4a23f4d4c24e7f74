import type { Page, Visit } from '../document.js';
import { withNext } from '../next-path.rules.js';
import type { RefusedForm } from '../refusal-texts.js';
import type { Texts } from '../texts/texts.js';
import { PasskeyForm } from './passkeys.view.js';
import { HiddenFields, NameField, PasswordField, RefusalNotice } from './controls.js';
import { type RefusedSecondStep, SecondStepForms } from './second-step-forms.js';

/** Reason that the sign-in page shows for a sign-in. */
export type SignInNotice = 'signedOut' | 'ended' | 'tooLate' | 'newPassword';

/** Content of a sign-in page. */
export interface SignInContent {
  /** Path that opens after the sign-in. */
  next?: string | undefined;
  /** Entered name, or the name of the account that signs in again. */
  name?: string | undefined;
  /** True if a signed-in user has to authenticate again. */
  again?: boolean;
  /** Reason why the sign-in form was rejected. */
  problem?: string | undefined;
  notice?: SignInNotice | undefined;
  canRegister?: boolean;
  /** Host of the OpenID Connect provider; undefined for a sign-in by password. */
  provider?: string | undefined;
  /** Options for a passkey; undefined if this URL allows no passkeys, such as an IP address. */
  passkey?: object | undefined;
}

/** Returns the sign-in page: name and password, or a button for the provider. */
export function signInPage({ texts }: Visit, content: SignInContent): Page {
  const { signIn } = texts;
  const { title } = signIn;
  const againText = content.again && signIn.again;
  const notice = content.notice && (
    <p class="notice" role="status">
      {content.notice === 'ended' ? texts.sessionEnded : signIn[content.notice]}
    </p>
  );
  if (content.provider !== undefined) {
    const body = (
      <>
        {notice}
        <form method="post" action="/sign-in/provider">
          <HiddenFields values={{ next: content.next }} />
          <button>{signIn.provider(content.provider)}</button>
        </form>
      </>
    );
    return { title, lead: [againText, signIn.providerText(content.provider)], body };
  }
  const body = (
    <>
      {notice}
      <RefusalNotice>{content.problem}</RefusalNotice>
      <form method="post" action="/sign-in">
        <HiddenFields values={{ next: content.next }} />
        <NameField
          texts={texts}
          value={content.name}
          hasPasskeys={content.passkey !== undefined}
          autofocus={content.name === undefined}
        />
        <PasswordField
          texts={texts}
          id="password"
          label={texts.password}
          autofocus={content.name !== undefined}
        />
        <button>{signIn.submit}</button>
      </form>
      {content.passkey && (
        <PasskeyForm
          texts={texts}
          action="/sign-in/passkey"
          options={content.passkey}
          hiddenFields={{ next: content.next }}
          submit={signIn.passkey}
        />
      )}
      <SignInLinks texts={texts} content={content} />
    </>
  );
  const isRefused = content.problem !== undefined;
  return { title, lead: againText, isRefused, hasPasskeyForm: content.passkey !== undefined, body };
}

function SignInLinks({ texts, content }: { texts: Texts; content: SignInContent }) {
  const { signIn, forgot, register } = texts;
  return (
    <div class="links">
      <a href="/forgot">{signIn.forgot}</a>
      {content.problem !== undefined && <a href="/recover">{forgot.recovery}</a>}
      <a href={withNext('/register', content.next)}>
        {content.canRegister ? signIn.register : register.closedTitle}
      </a>
    </div>
  );
}

/** Content of the page of the second step. */
export interface SecondStep {
  /** Encrypted proof that name and password were correct. */
  ticket: string;
  next?: string | undefined;
  refused?: RefusedSecondStep | undefined;
}

/** Second factors that an account has. */
export interface SecondFactors {
  readonly hasTotp: boolean;
  /** Options for a passkey; undefined if the account has none or this URL allows none. */
  readonly passkey: object | undefined;
}

/** Returns the page of the second step: a code of an authenticator app, or a passkey. */
export function codePage({ texts }: Visit, content: SecondStep & SecondFactors): Page {
  const { secondStep } = texts;
  const hiddenFields = { ticket: content.ticket, next: content.next };
  const missingText = content.hasTotp ? undefined : secondStep.passkeyMissing;
  const passkey = content.passkey ? (
    <PasskeyForm
      texts={texts}
      action="/sign-in/passkey"
      options={content.passkey}
      hiddenFields={hiddenFields}
      submit={secondStep.passkey}
      missing={missingText}
    />
  ) : (
    missingText && <p class="quiet">{missingText}</p>
  );
  const body = (
    <SecondStepForms
      texts={texts}
      actions={{ code: '/sign-in/code', recovery: '/sign-in/recovery' }}
      hiddenFields={hiddenFields}
      refused={content.refused}
      hasTotp={content.hasTotp}
      passkey={passkey}
    >
      <button>{texts.signIn.submit}</button>
    </SecondStepForms>
  );
  const { title, lead, passkeyTitle, passkeyLead } = secondStep;
  return {
    ...(content.hasTotp ? { title, lead } : { title: passkeyTitle, lead: passkeyLead }),
    isRefused: content.refused !== undefined,
    hasPasskeyForm: content.passkey !== undefined,
    body,
  };
}

/** Returns the page on which a user of a provider chooses a name, because some apps need one. */
export function chooseNamePage(
  { texts }: Visit,
  content: { next?: string | undefined } & RefusedForm,
): Page {
  const { chooseName, chooseNameText } = texts.signIn;
  const problem = content.problems?.name;
  const body = (
    <form method="post" action="/name">
      <HiddenFields values={{ next: content.next }} />
      <NameField
        texts={texts}
        value={content.entered}
        hint={texts.nameHint}
        error={problem}
        autofocus
      />
      <button>{texts.save}</button>
    </form>
  );
  return { title: chooseName, lead: chooseNameText, isRefused: problem !== undefined, body };
}
