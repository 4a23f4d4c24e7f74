import { Refusal, type RefusalCode } from '../people/refusal.js';
import type { Texts } from './texts/texts.js';

interface FieldProblem {
  readonly field: keyof Problems;
  readonly text: string;
}

/** Texts about a refused form by field; `form` concerns all of it. */
export type Problems = Partial<
  Record<'name' | 'password' | 'current' | 'email' | 'label' | 'form', string>
>;

/** A refused form, for the page that shows it again. */
export interface RefusedForm {
  /** The value of the field that the page fills in. */
  readonly entered?: string;
  readonly problems?: Problems;
}

function problems(
  { register, passwordProblem, changeEmail, appPassword, failure }: Texts,
  retryAfter?: number,
): Partial<Record<RefusalCode, FieldProblem>> {
  const form = ([, text]: readonly [string, string]): FieldProblem => ({
    field: 'form',
    text: retryAfter === undefined ? text : `${text} ${failure.retry(retryAfter)}`,
  });
  return {
    limited: form(failure.tooMany),
    busy: form(failure.busy),
    name: { field: 'name', text: register.nameInvalid },
    name_taken: { field: 'name', text: register.nameTaken },
    erased: { field: 'name', text: register.nameTaken },
    password_short: { field: 'password', text: passwordProblem.short },
    password_long: { field: 'password', text: passwordProblem.long },
    password_common: { field: 'password', text: passwordProblem.common },
    email: { field: 'email', text: changeEmail.invalid },
    label: { field: 'label', text: appPassword.labelInvalid },
    too_many: { field: 'label', text: appPassword.tooMany },
  };
}

/** Returns the texts of a refusal by field. @throws the given error, if it concerns no field. */
export function problemsOf(texts: Texts, error: unknown): Problems {
  const problem =
    error instanceof Refusal ? problems(texts, error.retryAfter)[error.code] : undefined;
  if (!problem) throw error;
  return { [problem.field]: problem.text };
}
