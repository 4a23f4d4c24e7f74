import type { ComponentChildren } from 'preact';
import type { Texts } from '../texts/texts.js';
import { CodeField, HiddenFields, RecoveryCodeField, RefusalNotice } from './controls.js';

/** The form of {@link SecondStepForms} that was refused, and the reason. */
export interface RefusedSecondStep {
  readonly form: 'code' | 'recovery' | 'passkey';
  /** Reason of the refusal; undefined for a wrong code. */
  readonly problem?: string | undefined;
}

interface SecondStepFormsProps {
  readonly texts: Texts;
  /** Paths to which the forms with the fields `code` and `recovery` are sent. */
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
  const isWrongCode = (form: 'code' | 'recovery') =>
    refused?.form === form && refused.problem === undefined;
  // After too many wrong TOTP codes, only a recovery code works, so the recovery form is open.
  const isRecoveryOpen =
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
            error={isWrongCode('code') ? secondStep.refused : undefined}
            autofocus={!isRecoveryOpen}
          />
          {children}
        </form>
      )}
      {passkey}
      <details class="links" open={isRecoveryOpen}>
        <summary>{hasTotp ? secondStep.lost : secondStep.lostPasskey}</summary>
        <form method="post" action={actions.recovery}>
          <p class="quiet">{secondStep.recoveryLead}</p>
          <HiddenFields values={hiddenFields} />
          <RecoveryCodeField
            texts={texts}
            error={isWrongCode('recovery') ? secondStep.recoveryRefused : undefined}
            autofocus={isRecoveryOpen}
          />
          {children}
        </form>
      </details>
    </>
  );
}
