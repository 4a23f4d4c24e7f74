// The script of account pages with passkey forms (apps/account/src/pages/views/passkeys.view.tsx).
// The script shows the forms in browsers that support passkeys, and submits the browser's response
// in the field `credential` of the form.
import {
  browserSupportsWebAuthn,
  browserSupportsWebAuthnAutofill,
  startAuthentication,
  startRegistration,
} from '@simplewebauthn/browser';

/**
 * Asks the browser for a passkey, and submits the browser's response with a form.
 *
 * @param useBrowserAutofill true to offer passkeys in the name field, until the user chooses one.
 */
async function submitWithPasskey(form: HTMLFormElement, useBrowserAutofill = false): Promise<void> {
  const optionsJSON = JSON.parse(form.dataset['passkey'] ?? '');
  const response =
    'user' in optionsJSON
      ? await startRegistration({ optionsJSON })
      : await startAuthentication({ optionsJSON, useBrowserAutofill });
  (form.elements.namedItem('credential') as HTMLInputElement).value = JSON.stringify(response);
  form.submit();
}

/** Shows a passkey form. Its error text appears if the browser returns no passkey. */
function enablePasskeyForm(form: HTMLFormElement): void {
  const errorElement = form.querySelector<HTMLElement>('[role=alert][hidden]');
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    if (errorElement) errorElement.hidden = true;
    submitWithPasskey(form).catch(() => {
      if (errorElement) errorElement.hidden = false;
    });
  });
  form.hidden = false;
}

const passkeyForms = [...document.querySelectorAll<HTMLFormElement>('form[data-passkey]')];
if (browserSupportsWebAuthn()) {
  for (const text of document.querySelectorAll<HTMLElement>('[data-passkey-missing]'))
    text.hidden = true;
  passkeyForms.forEach(enablePasskeyForm);
  const [firstForm] = passkeyForms;
  // Offers passkeys in the field of the name. A click on the form's button ends this request.
  if (firstForm && document.querySelector('[autocomplete$=webauthn]'))
    void browserSupportsWebAuthnAutofill().then((isSupported) =>
      isSupported ? submitWithPasskey(firstForm, true).catch(() => {}) : undefined,
    );
}
