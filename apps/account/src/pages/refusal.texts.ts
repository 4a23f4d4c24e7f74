import { Refusal, type RefusalCode } from '../people/refusal.js';
import type { Texts } from './texts/texts.js';

interface FieldProblem {
  readonly field: 'name' | 'password' | 'email' | 'label';
  readonly text: string;
}

function problems({
  register,
  passwordProblem,
  changeEmail,
  appPassword,
}: Texts): Partial<Record<RefusalCode, FieldProblem>> {
  return {
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
export function problemsOf(
  texts: Texts,
  error: unknown,
): Partial<Record<FieldProblem['field'], string>> {
  const problem = error instanceof Refusal ? problems(texts)[error.code] : undefined;
  if (!problem) throw error;
  return { [problem.field]: problem.text };
}
