import { Refusal, type RefusalCode } from '../people/refusal.js';
import type { Texts } from './texts/texts.js';

interface FieldProblem {
  readonly field: keyof Problems;
  readonly text: string;
}

/** Error texts of a refused form, by field; `formProblem` is an error of the whole form. */
export type Problems = Partial<
  Record<'name' | 'password' | 'current' | 'email' | 'label' | 'form', string>
>;

/** Entered value and error texts of a refused form, for the page that shows it again. */
export interface RefusedForm {
  /** Value that the person entered, which the page shows again. */
  readonly entered?: string;
  readonly problems?: Problems;
}

/** Returns the field and the error text of each refusal, by its code. */
function problemsByCode(
  { register, passwordProblem, changeEmail, appPassword, passkeys, failure }: Texts,
  { retryAfter, limitedAction }: Refusal,
): Partial<Record<RefusalCode, FieldProblem>> {
  const formProblem = (text: string): FieldProblem => ({
    field: 'form',
    text: retryAfter === undefined ? text : `${text} ${failure.retry(retryAfter)}`,
  });
  return {
    limited: formProblem(limitedAction ? failure.limited[limitedAction] : failure.tooMany[1]),
    busy: formProblem(failure.busy[1]),
    name: { field: 'name', text: register.nameInvalid },
    name_taken: { field: 'name', text: register.nameTaken },
    erased: { field: 'name', text: register.nameTaken },
    password_short: { field: 'password', text: passwordProblem.short },
    password_long: { field: 'password', text: passwordProblem.long },
    password_common: { field: 'password', text: passwordProblem.common },
    email: { field: 'email', text: changeEmail.invalid },
    label: { field: 'label', text: appPassword.labelInvalid },
    passkey: formProblem(passkeys.refused),
    passkeys_full: formProblem(passkeys.full),
    too_many: { field: 'label', text: appPassword.tooMany },
  };
}

/** Returns the error text of a refusal, by field of the form. @throws `error` if it has no text. */
export function problemTextsOf(texts: Texts, error: unknown): Problems {
  const problem = error instanceof Refusal ? problemsByCode(texts, error)[error.code] : undefined;
  if (!problem) throw error;
  return { [problem.field]: problem.text };
}
