import { Refusal, type RefusalCode } from '../people/refusal.js';
import type { Texts } from './texts/texts.js';

interface FieldProblem {
  readonly field: keyof Problems;
  readonly text: string;
}

/** Error texts of a refused form, by field. `form` is an error of the whole form. */
export type Problems = Partial<
  Record<'name' | 'password' | 'current' | 'email' | 'label' | 'form', string>
>;

/** Entered value and error texts of a refused form. The page shows the form with them again. */
export interface RefusedForm {
  readonly entered?: string;
  readonly problems?: Problems;
}

/** Returns field and error text by refusal code. Codes without a text for forms are absent. */
function createProblemsByCode(
  { register, passwordProblem, changeEmail, appPassword, passkeys, failure }: Texts,
  { retryAfter, limitedAction }: Refusal,
): Partial<Record<RefusalCode, FieldProblem>> {
  const createFormProblem = (text: string): FieldProblem => ({
    field: 'form',
    text: retryAfter === undefined ? text : `${text} ${failure.retry(retryAfter)}`,
  });
  return {
    limited: createFormProblem(limitedAction ? failure.limited[limitedAction] : failure.tooMany[1]),
    busy: createFormProblem(failure.busy[1]),
    name: { field: 'name', text: register.nameInvalid },
    name_taken: { field: 'name', text: register.nameTaken },
    erased: { field: 'name', text: register.nameTaken },
    password_short: { field: 'password', text: passwordProblem.short },
    password_long: { field: 'password', text: passwordProblem.long },
    password_common: { field: 'password', text: passwordProblem.common },
    email: { field: 'email', text: changeEmail.invalid },
    label: { field: 'label', text: appPassword.labelInvalid },
    passkey: createFormProblem(passkeys.refused),
    passkeys_full: createFormProblem(passkeys.full),
    too_many: { field: 'label', text: appPassword.tooMany },
  };
}

/** Returns the error text of a refusal, by form field. @throws `error` if it has no text. */
export function problemTextsOf(texts: Texts, error: unknown): Problems {
  const problem =
    error instanceof Refusal ? createProblemsByCode(texts, error)[error.code] : undefined;
  if (!problem) throw error;
  return { [problem.field]: problem.text };
}
