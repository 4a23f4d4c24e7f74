import { ActionLink, Field } from '#ui';
import type { NewTotp } from '../../people/totp.js';
import type { Page, Visit } from '../document.js';
import type { RefusedForm } from '../refusal-texts.js';
import {
  ActionButton,
  CodeField,
  CopyValue,
  FactList,
  FormActions,
  HiddenName,
  LinkButton,
  NewPasswordField,
  PasswordField,
  QrCode,
  RefusalNotice,
} from './controls.js';
import { type RefusedSecondStep, SecondStepForms } from './second-step-forms.js';

/** Returns the page that changes a password. */
export function changePasswordPage(
  { texts }: Visit,
  { name, problems = {} }: { name: string } & RefusedForm,
): Page {
  const { title, lead, current: label, submit } = texts.changePassword;
  const { current, password, form } = problems;
  const body = (
    <>
      <RefusalNotice>{form}</RefusalNotice>
      <form method="post" action="/password">
        <HiddenName name={name} />
        <PasswordField
          texts={texts}
          id="current"
          label={label}
          error={current}
          autofocus={password === undefined}
        />
        <NewPasswordField texts={texts} error={password} />
        <FormActions leaveText={texts.cancel}>
          <button>{submit}</button>
        </FormActions>
      </form>
    </>
  );
  return { title, lead, isRefused: Object.keys(problems).length > 0, body };
}

/** Returns the page that changes or removes an e-mail address. */
export function changeEmailPage(
  { texts }: Visit,
  content: { email: string; canRemove: boolean } & RefusedForm,
): Page {
  const { title, lead, submit, hint, remove } = texts.changeEmail;
  const body = (
    <>
      <RefusalNotice>{content.problems?.form}</RefusalNotice>
      <form method="post" action="/email">
        <Field
          id="email"
          label={texts.emailAddress}
          type="email"
          value={content.entered ?? content.email}
          hint={hint}
          error={content.problems?.email}
          autocomplete="email"
          maxLength={254}
          required
          autofocus
        />
        <FormActions leaveText={texts.cancel}>
          <button>{submit}</button>
        </FormActions>
      </form>
      {content.canRemove && (
        <form method="post" action="/email/remove">
          <button class="plain">{remove}</button>
        </form>
      )}
    </>
  );
  return { title, lead, isRefused: content.problems !== undefined, body };
}

/** Returns the page that sets up the second step. It shows the key as a QR code and as text. */
export function totpPage({ texts }: Visit, content: { key: NewTotp; isRefused: boolean }): Page {
  const { totp, cancel } = texts;
  const body = (
    <>
      <div class="stack">
        <p>{totp.scan}</p>
        <QrCode text={content.key.uri} alt={totp.qr} />
        <ActionLink href={content.key.uri} look="plain">
          {totp.open}
        </ActionLink>
        <p class="small">{totp.key}</p>
        <p class="secret">{content.key.secret.match(/.{1,4}/g)?.join(' ')}</p>
      </div>
      <form method="post" action="/totp">
        <CodeField
          texts={texts}
          hint={totp.enter}
          error={content.isRefused ? totp.refused : undefined}
          autofocus={content.isRefused}
        />
        <FormActions leaveText={cancel}>
          <button>{totp.submit}</button>
        </FormActions>
      </form>
    </>
  );
  return { title: totp.title, lead: totp.lead, isRefused: content.isRefused, body };
}

/** Returns the page that switches the second step off by a TOTP code or a recovery code. */
export function totpOffPage({ texts }: Visit, refused?: RefusedSecondStep): Page {
  const { totp, cancel } = texts;
  const body = (
    <SecondStepForms
      texts={texts}
      actions={{ code: '/totp/off', recovery: '/totp/off' }}
      refused={refused}
    >
      <FormActions leaveText={cancel}>
        <button class="danger">{totp.offSubmit}</button>
      </FormActions>
    </SecondStepForms>
  );
  return { title: totp.offTitle, lead: totp.offLead, isRefused: refused !== undefined, body };
}

/** Returns the page that creates recovery codes. */
export function recoveryCodesPage({ texts: { recovery, cancel } }: Visit): Page {
  const body = (
    <form method="post" action="/recovery-codes">
      <FormActions leaveText={cancel}>
        <button>{recovery.submit}</button>
      </FormActions>
    </form>
  );
  return { title: recovery.title, lead: recovery.lead, body };
}

/** Returns the page with new recovery codes, which are not shown again. */
export function shownRecoveryCodesPage(
  { texts }: Visit,
  { codes, account }: { codes: readonly string[]; account: string },
): Page {
  const { recovery, copy, copied, print, download } = texts;
  const fileText = `${texts.product}, ${account}: ${recovery.title}\n\n${codes.join('\n')}\n`;
  const body = (
    <>
      <ol class="secret codes" id="codes" aria-label={recovery.list}>
        {codes.map((code) => (
          <li>{code}</li>
        ))}
      </ol>
      <div class="actions">
        <ActionButton targetId="codes" action="copy" done={copied}>
          {copy}
        </ActionButton>
        <ActionButton action="print">{print}</ActionButton>
        <a
          class="button plain slight"
          href={`data:text/plain;charset=utf-8,${encodeURIComponent(fileText)}`}
          download="podcast-sync-recovery-codes.txt"
        >
          {download}
        </a>
      </div>
      <LinkButton href="/account">{recovery.kept}</LinkButton>
    </>
  );
  return { title: recovery.shownTitle, lead: recovery.shownLead, body };
}

interface ChoiceProps {
  readonly title: string;
  readonly name: string;
  /** Texts of the choices by value. The first choice is preselected. */
  readonly options: Readonly<Record<string, string>>;
}

function ChoiceFields({ title, name, options }: ChoiceProps) {
  return (
    <fieldset class="field">
      <legend>{title}</legend>
      <div class="choices">
        {Object.entries(options).map(([value, text], index) => (
          <label>
            <input type="radio" name={name} value={value} checked={index === 0} /> {text}
          </label>
        ))}
      </div>
    </fieldset>
  );
}

/** Returns the page that creates an app password. */
export function appPasswordPage({ texts }: Visit, { entered, problems }: RefusedForm): Page {
  const { appPassword, cancel } = texts;
  const body = (
    <form method="post" action="/app-passwords">
      <Field
        id="label"
        label={appPassword.label}
        value={entered}
        hint={appPassword.labelHint}
        error={problems?.label}
        autocomplete="off"
        maxLength={64}
        required
        autofocus
      />
      <ChoiceFields title={appPassword.rights} name="rights" options={appPassword.rightsOf} />
      <ChoiceFields title={appPassword.expires} name="expires" options={appPassword.expiry} />
      <FormActions leaveText={cancel}>
        <button>{appPassword.submit}</button>
      </FormActions>
    </form>
  );
  return {
    title: appPassword.title,
    lead: appPassword.lead,
    isRefused: problems !== undefined,
    body,
  };
}

/** Content of the page with a new app password: the secret, and other data that an app needs. */
export interface CreatedAppPassword {
  readonly label: string;
  /** Name of the account; null if it has none. */
  readonly name: string | null;
  readonly secret: string;
  /** URL of the API. */
  readonly server: string;
}

/** Returns the page with a new app password, which is not shown again. */
export function shownAppPasswordPage({ texts }: Visit, content: CreatedAppPassword): Page {
  const { appPassword } = texts;
  const body = (
    <>
      <CopyValue texts={texts} id="secret" label={appPassword.secret} value={content.secret} />
      <FactList
        facts={[
          [appPassword.server, content.server],
          content.name !== null && [appPassword.name, content.name],
        ]}
      />
      <p class="quiet small">{appPassword.bearer}</p>
      <LinkButton href="/account">{appPassword.done}</LinkButton>
    </>
  );
  return { title: appPassword.shownTitle, lead: appPassword.shownLead(content.label), body };
}

/** Returns the page that erases an account after the entry of its name. */
export function erasePage(
  { texts: { erase } }: Visit,
  content: { name: string; problem?: string | undefined },
): Page {
  const label = erase.confirm(content.name);
  const body = (
    <form method="post" action="/erase">
      <Field
        id="name"
        label={label}
        error={content.problem}
        autocomplete="off"
        maxLength={64}
        required
      />
      <FormActions leaveText={erase.keep}>
        <button class="danger">{erase.submit}</button>
      </FormActions>
    </form>
  );
  return {
    title: erase.title,
    lead: [erase.lead, erase.exportFirst],
    isRefused: content.problem !== undefined,
    body,
  };
}
