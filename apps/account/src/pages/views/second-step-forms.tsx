import type { ComponentChildren } from 'preact';
import type { Texts } from '../texts/texts.js';
import { CodeField, HiddenFields, RecoveryCodeField, RefusalNotice } from './controls.js';

/** Refused form of {@link SecondStepForms}. */
export interface RefusedSecondStep {
  readonly form: 'code' | 'recovery' | 'passkey';
  /** Reason of the refusal; undefined for a wrong code. */
  readonly problem?: string | undefined;
}

interface SecondStepFormsProps {
  readonly texts: Texts;
  /** Form targets for the fields `code` and `recovery`. */
  readonly actions: { readonly code: string; readonly recovery: string };
  /** Hidden fields of both forms. */
  readonly hiddenFields?: Readonly<Record<string, string | undefined>>;
  readonly refused?: RefusedSecondStep | undefined;
  /** False if the account has no authenticator app. Default: true. */
  readonly hasTotp?: boolean;
  /** Form that signs in with one of the account's passkeys. */
  readonly passkey?: ComponentChildren;
  /** Buttons at the end of each form. */
  readonly children: ComponentChildren;
}

/** Renders the forms for a code of the authenticator app, a passkey, and a recovery code. */
export function SecondStepForms({
  texts,
  actions,
  hiddenFields = {},
  refused,
  hasTotp = true,
  passkey,
  children,
}: SecondStepFormsProps) {
  const { secondStep } = texts;
  const isWrong = (form: 'code' | 'recovery') =>
    refused?.form === form && refused.problem === undefined;
  // After too many wrong TOTP codes only a recovery code works, so its form is open.
  const isRecovery =
    refused?.form === 'recovery' || (refused?.form === 'code' && refused.problem !== undefined);
  return (
    <>
      <RefusalNotice>{refused?.problem}</RefusalNotice>
      {hasTotp && (
        <form method="post" action={actions.code}>
          <HiddenFields values={hiddenFields} />
          <CodeField
            texts={texts}
            hint={secondStep.codeHint}
            error={isWrong('code') ? secondStep.refused : undefined}
            autofocus={!isRecovery}
          />
          {children}
        </form>
      )}
      {passkey}
      <details class="links" open={isRecovery}>
        <summary>{hasTotp ? secondStep.lost : secondStep.lostPasskey}</summary>
        <form method="post" action={actions.recovery}>
          <p class="quiet">{secondStep.recoveryLead}</p>
          <HiddenFields values={hiddenFields} />
          <RecoveryCodeField
            texts={texts}
            error={isWrong('recovery') ? secondStep.recoveryRefused : undefined}
            autofocus={isRecovery}
          />
          {children}
        </form>
      </details>
    </>
  );
}
