// The script of account pages with forms for passkeys (apps/account/src/pages/views/
// passkeys.view.tsx). It shows the forms, and sends the response of a passkey in their field.
import {
  browserSupportsWebAuthn,
  browserSupportsWebAuthnAutofill,
  startAuthentication,
  startRegistration,
} from '@simplewebauthn/browser';

/** Sends a form with the response of a passkey. @param useBrowserAutofill waits for a choice. */
async function send(form: HTMLFormElement, useBrowserAutofill = false): Promise<void> {
  const optionsJSON = JSON.parse(form.dataset['passkey'] ?? '');
  const response =
    'user' in optionsJSON
      ? await startRegistration({ optionsJSON })
      : await startAuthentication({ optionsJSON, useBrowserAutofill });
  (form.elements.namedItem('credential') as HTMLInputElement).value = JSON.stringify(response);
  form.submit();
}

/** Shows a form. Its text about a failure appears if the browser returns no passkey. */
function enable(form: HTMLFormElement): void {
  const failure = form.querySelector<HTMLElement>('[role=alert][hidden]');
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    if (failure) failure.hidden = true;
    send(form).catch(() => {
      if (failure) failure.hidden = false;
    });
  });
  form.hidden = false;
}

const forms = [...document.querySelectorAll<HTMLFormElement>('form[data-passkey]')];
if (browserSupportsWebAuthn()) {
  for (const text of document.querySelectorAll<HTMLElement>('[data-passkey-missing]'))
    text.hidden = true;
  forms.forEach(enable);
  const [first] = forms;
  // Browsers offer passkeys in the field of the name. A click on the button ends this request.
  if (first && document.querySelector('[autocomplete$=webauthn]'))
    void browserSupportsWebAuthnAutofill().then((isSupported) =>
      isSupported ? send(first, true).catch(() => {}) : undefined,
    );
}
