import { Field, Row } from '#ui';
import type { ComponentChildren } from 'preact';
import type { Passkey } from '../../people/passkeys.js';
import type { Page, Visit } from '../document.js';
import type { RefusedForm } from '../refusal-texts.js';
import type { Texts } from '../texts/texts.js';
import {
  renderCredentialTimes,
  EndButton,
  HiddenFields,
  LinkButton,
  RefusalNotice,
  RowList,
} from './controls.js';

interface PasskeyFormProps {
  readonly texts: Texts;
  readonly action: string;
  /** Options for `navigator.credentials`, as JSON. */
  readonly options: object;
  /** Hidden fields of the form. */
  readonly hiddenFields?: Readonly<Record<string, string | undefined>>;
  readonly submit: string;
  /** Text that browsers without passkeys or scripts show instead of the form. */
  readonly missing?: string | undefined;
  readonly children?: ComponentChildren;
}

/**
 * Renders a form that is hidden until a script shows it (apps/console/src/passkey.ts). The script
 * sends the response of a passkey as the field `credential`.
 */
export function PasskeyForm(content: PasskeyFormProps) {
  return (
    <>
      {content.missing !== undefined && (
        <p class="quiet" data-passkey-missing>
          {content.missing}
        </p>
      )}
      <form
        method="post"
        action={content.action}
        hidden
        data-passkey={JSON.stringify(content.options)}
      >
        <HiddenFields values={{ ...content.hiddenFields, credential: '' }} />
        {content.children}
        <p class="notice bad" role="alert" hidden>
          {content.texts.passkeys.failed}
        </p>
        <button class={content.children === undefined ? 'plain' : undefined}>
          {content.submit}
        </button>
      </form>
    </>
  );
}

/** Content of the page of passkeys. */
export interface PasskeyList extends RefusedForm {
  readonly passkeys: readonly Passkey[];
  /** Options of a new passkey; undefined if this URL allows no passkeys, such as an IP address. */
  readonly options: object | undefined;
  /** Proposed name of a new passkey. */
  readonly label: string;
}

/** Returns the page that lists, adds and removes passkeys. */
export function passkeysPage(visit: Visit, content: PasskeyList): Page {
  const { texts } = visit;
  const { passkeys, home, back } = texts;
  const rows = content.passkeys.map((passkey) => (
    <Row
      name={passkey.label}
      tag={passkey.suspendedAt && <span class="tag bad">{home.suspended}</span>}
      lines={[renderCredentialTimes(visit, passkey)]}
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
      <RefusalNotice>{content.problems?.form}</RefusalNotice>
      <RowList rows={rows} none={passkeys.none} />
      {content.passkeys.some(({ suspendedAt }) => suspendedAt) && (
        <p class="notice bad">{passkeys.suspended}</p>
      )}
      {content.options ? (
        <PasskeyForm
          texts={texts}
          action="/passkeys"
          options={content.options}
          submit={passkeys.submit}
          missing={passkeys.missing}
        >
          <Field
            id="label"
            label={passkeys.label}
            value={content.entered ?? content.label}
            error={content.problems?.label}
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
  return { title, lead, body, isRefused: content.problems !== undefined, hasPasskeyForm: true };
}
