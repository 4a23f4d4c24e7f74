import { Field, Row } from '#ui';
import type { ComponentChildren } from 'preact';
import type { Passkey } from '../../people/passkeys.js';
import type { Page, Visit } from '../document.js';
import type { RefusedForm } from '../refusal.texts.js';
import type { Texts } from '../texts/texts.js';
import { EndButton, Hidden, lifeOf, LinkButton, RefusalNotice, Rows } from './components.js';

interface PasskeyFormProps {
  readonly texts: Texts;
  readonly action: string;
  /** Options for `navigator.credentials`, as JSON. */
  readonly options: object;
  /** Hidden fields. */
  readonly values?: Readonly<Record<string, string | undefined>>;
  readonly submit: string;
  /** Text that browsers without passkeys or scripts show instead of the form. */
  readonly missing?: string | undefined;
  readonly children?: ComponentChildren;
}

/**
 * Renders a form that is hidden until a script shows it (apps/console/src/passkey.ts). The script
 * sends the response of a passkey as the field `credential`.
 */
export function PasskeyForm(of: PasskeyFormProps) {
  return (
    <>
      {of.missing !== undefined && (
        <p class="quiet" data-passkey-missing>
          {of.missing}
        </p>
      )}
      <form method="post" action={of.action} hidden data-passkey={JSON.stringify(of.options)}>
        <Hidden values={{ ...of.values, credential: '' }} />
        {of.children}
        <p class="notice bad" role="alert" hidden>
          {of.texts.passkeys.failed}
        </p>
        <button class={of.children === undefined ? 'plain' : undefined}>{of.submit}</button>
      </form>
    </>
  );
}

/** Content of the page of passkeys. */
export interface PasskeyList extends RefusedForm {
  readonly passkeys: readonly Passkey[];
  /** Options of a new passkey; undefined at an address without passkeys. */
  readonly options: object | undefined;
  /** Proposed name of a new passkey. */
  readonly label: string;
}

/** Returns the page that lists, adds and removes passkeys. */
export function passkeysPage(visit: Visit, of: PasskeyList): Page {
  const { texts } = visit;
  const { passkeys, home, back } = texts;
  const rows = of.passkeys.map((passkey) => (
    <Row
      name={passkey.label}
      tag={passkey.suspendedAt && <span class="tag bad">{home.suspended}</span>}
      lines={[lifeOf(visit, passkey)]}
    >
      <EndButton
        action="/passkeys/remove"
        id={passkey.id.toString('base64url')}
        label={home.removeNamed(passkey.label)}
        text={home.remove}
      />
    </Row>
  ));
  const body = (
    <>
      <RefusalNotice>{of.problems?.form}</RefusalNotice>
      <Rows rows={rows} none={passkeys.none} />
      {of.passkeys.some(({ suspendedAt }) => suspendedAt) && (
        <p class="notice bad">{passkeys.suspended}</p>
      )}
      {of.options ? (
        <PasskeyForm
          texts={texts}
          action="/passkeys"
          options={of.options}
          submit={passkeys.submit}
          missing={passkeys.missing}
        >
          <Field
            id="label"
            label={passkeys.label}
            value={of.entered ?? of.label}
            error={of.problems?.label}
            autocomplete="off"
            maxLength={64}
            required
          />
        </PasskeyForm>
      ) : (
        <p class="quiet">{passkeys.noAddress}</p>
      )}
      <LinkButton href="/account">{back}</LinkButton>
    </>
  );
  const { title, lead } = passkeys;
  return { title, lead, body, isRefused: of.problems !== undefined, hasPasskeyForm: true };
}
