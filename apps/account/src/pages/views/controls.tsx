import { Field } from '#ui';
import type { ComponentChildren } from 'preact';
import { renderSVG } from 'uqr';
import type { Visit } from '../document.js';
import type { Texts } from '../texts/texts.js';

interface FieldProps {
  readonly texts: Texts;
  readonly error?: string | undefined;
  readonly autofocus?: boolean | undefined;
}

/** Renders the field for an account's name. @param hasPasskeys true to suggest passkeys too. */
export function NameField({
  texts,
  value,
  hint,
  hasPasskeys = false,
  ...field
}: FieldProps & { value?: string | undefined; hint?: string; hasPasskeys?: boolean }) {
  return (
    <Field
      {...field}
      id="name"
      label={texts.name}
      hint={hint}
      value={value}
      autocomplete={hasPasskeys ? 'username webauthn' : 'username'}
      maxLength={64}
      required
    />
  );
}

interface ActionButtonProps {
  /** Id of the element that the script copies or reveals. */
  readonly targetId?: string;
  readonly action: 'copy' | 'print' | 'reveal';
  /** Text of the button after a click. */
  readonly done?: string;
  readonly children: string;
}

/** Renders a button that is hidden until a script shows it (apps/console/src/site.ts). */
export function ActionButton({ targetId, action, done, children }: ActionButtonProps) {
  const data = { 'data-action': action, 'data-done': done };
  const look = action === 'reveal' ? 'bare reveal' : 'plain slight';
  return (
    <button type="button" class={look} hidden aria-controls={targetId} aria-live="polite" {...data}>
      {children}
    </button>
  );
}

/** Renders a value that a person copies into an app. */
export function CopyValue({
  texts,
  id,
  label,
  value,
}: {
  texts: Texts;
  id: string;
  label: string;
  value: string;
}) {
  return (
    <section class="stack">
      <h2>{label}</h2>
      <div class="copy">
        <p class="secret" id={id}>
          {value}
        </p>
        <ActionButton targetId={id} action="copy" done={texts.copied}>
          {texts.copy}
        </ActionButton>
      </div>
    </section>
  );
}

/** Renders a password field, with a button that reveals the entered password. */
export function PasswordField({
  texts,
  id,
  label,
  autocomplete = 'current-password',
  ...field
}: FieldProps & { id: string; label: string; hint?: string; autocomplete?: string }) {
  return (
    <div class="field">
      <Field
        {...field}
        id={id}
        label={label}
        type="password"
        autocomplete={autocomplete}
        maxLength={1_000}
        required
      />
      <ActionButton targetId={id} action="reveal" done={texts.hidePassword}>
        {texts.showPassword}
      </ActionButton>
    </div>
  );
}

/** Renders the field for a new password. By default, a field with an error gets the focus. */
export function NewPasswordField({
  texts,
  label = texts.newPassword,
  error,
  autofocus,
}: FieldProps & { label?: string }) {
  return (
    <PasswordField
      texts={texts}
      id="password"
      label={label}
      hint={texts.passwordHint}
      error={error}
      autocomplete="new-password"
      autofocus={autofocus ?? error !== undefined}
    />
  );
}

/** Renders the field of a code from an authenticator app. */
export function CodeField({ texts, hint, ...field }: FieldProps & { hint: string }) {
  return (
    <Field
      {...field}
      id="code"
      label={texts.code}
      hint={hint}
      class="code"
      autocomplete="one-time-code"
      inputMode="numeric"
      maxLength={8}
      required
    />
  );
}

/** Renders the field of a recovery code. */
export function RecoveryCodeField({ texts, ...field }: FieldProps) {
  const label = texts.secondStep.recoveryCode;
  return (
    <Field {...field} id="recovery" label={label} autocomplete="off" maxLength={64} required />
  );
}

/** Renders the reason why a form was rejected, if there is one. */
export function RefusalNotice({ children }: { children: string | undefined }) {
  if (children === undefined) return null;
  return (
    <p class="notice bad" role="alert">
      {children}
    </p>
  );
}

/** Renders a hidden account name for password managers, in a form that only asks for a password. */
export function HiddenName({ name }: { name: string }) {
  const attributes = {
    name: 'username',
    value: name,
    autocomplete: 'username',
    tabIndex: -1,
  } as const;
  return <input class="hidden" type="text" aria-hidden="true" readonly {...attributes} />;
}

/** Renders hidden fields of a form. Absent values are skipped. */
export function HiddenFields({ values }: { values: Readonly<Record<string, string | undefined>> }) {
  return Object.entries(values).map(
    ([name, value]) => value !== undefined && <input type="hidden" name={name} value={value} />,
  );
}

/** Renders a form whose button ends one access to the account, such as a session. */
export function EndButton({
  action,
  id,
  label,
  text,
}: {
  action: string;
  id: string;
  label: string;
  text: string;
}) {
  return (
    <form method="post" action={action}>
      <input type="hidden" name="id" value={id} />
      <button class="plain slight" aria-label={label}>
        {text}
      </button>
    </form>
  );
}

interface FormActionsProps {
  /** Text of the link that leaves the form. */
  readonly leaveText: string;
  /** Path of the link that leaves the form; default: the account page. */
  readonly leavePath?: string;
  readonly children: ComponentChildren;
}

/** Renders the buttons of a form, and a link that leaves the form. */
export function FormActions({ leaveText, leavePath = '/account', children }: FormActionsProps) {
  return (
    <div class="actions">
      <a class="button plain" href={leavePath}>
        {leaveText}
      </a>
      {children}
    </div>
  );
}

/** Renders a link as a button. */
export function LinkButton({ href, children }: { href: string; children: string }) {
  return (
    <p>
      <a class="button" href={href}>
        {children}
      </a>
    </p>
  );
}

const secondsByUnit = [
  ['year', 31_536_000],
  ['month', 2_592_000],
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
  ['second', 1],
] as const;

/** Returns a time relative to now, such as "3 minutes ago". */
export function relativeTime(visit: Visit, time: Date): string {
  const seconds = Math.round((time.getTime() - visit.now.getTime()) / 1_000);
  const [unit, secondsPerUnit] = secondsByUnit.find(
    ([, candidateSeconds]) => Math.abs(seconds) >= candidateSeconds,
  ) ?? ['second', 1];
  const format = new Intl.RelativeTimeFormat(visit.language, { numeric: 'auto' });
  return format.format(Math.trunc(seconds / secondsPerUnit), unit);
}

/** Renders a relative time, with the exact time in UTC as its title. Browsers send no time zone. */
export function renderTime(visit: Visit, time: Date) {
  const format = { dateStyle: 'medium', timeStyle: 'medium', timeZone: 'UTC' } as const;
  const exactTime = `${new Intl.DateTimeFormat(visit.language, format).format(time)} UTC`;
  return (
    <time dateTime={time.toISOString()} title={exactTime}>
      {relativeTime(visit, time)}
    </time>
  );
}

/** Renders a list of rows, or the text `none` for an empty list. */
export function RowList({ rows, none }: { rows: readonly ComponentChildren[]; none?: string }) {
  if (rows.length === 0) return <p class="quiet">{none}</p>;
  return (
    <ul class="rows" role="list">
      {rows.map((row) => (
        <li>{row}</li>
      ))}
    </ul>
  );
}

/** Returns the parts of a line, separated by dots. Absent parts are skipped. */
export const joinParts = (...parts: ComponentChildren[]) =>
  parts.filter(Boolean).map((part, index) => (
    <>
      {index > 0 && ' · '}
      {part}
    </>
  ));

/** Returns a line with the times at which a credential was created and last used. */
export function renderCredentialTimes(
  visit: Visit,
  { createdAt, lastUsedAt }: { readonly createdAt: Date; readonly lastUsedAt: Date | null },
) {
  const { home } = visit.texts;
  return joinParts(
    [home.created, ' ', renderTime(visit, createdAt)],
    lastUsedAt ? [home.lastUsed, ' ', renderTime(visit, lastUsedAt)] : home.neverUsed,
  );
}

/** Renders a text, such as a URL, as a QR code. */
export function QrCode({ text, alt }: { text: string; alt: string }) {
  const imageUrl = `data:image/svg+xml,${encodeURIComponent(renderSVG(text, { border: 4 }))}`;
  return <img class="qr" src={imageUrl} alt={alt} width="240" height="240" />;
}

/** Renders pairs of a term and a value. A fact `false` is skipped. */
export function FactList({
  facts,
}: {
  facts: readonly (readonly [string, ComponentChildren] | false)[];
}) {
  return (
    <dl class="facts">
      {facts.map(
        (fact) =>
          fact && (
            <>
              <dt>{fact[0]}</dt>
              <dd>{fact[1]}</dd>
            </>
          ),
      )}
    </dl>
  );
}
