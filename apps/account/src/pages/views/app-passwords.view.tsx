import type { AppPassword } from '../../credentials/app-passwords.js';
import type { Page, Visit } from '../document.js';
import type { Texts } from '../texts/texts.js';
import { renderCredentialTimes, FormActions, HiddenFields } from './controls.js';
import { messagePage } from './registration.view.js';

/** Renders a notice if some app passwords are suspended. */
export function SuspendedNotice({
  texts: { home },
  appPasswords,
}: {
  readonly texts: Texts;
  readonly appPasswords: readonly Pick<AppPassword, 'suspendedAt'>[];
}) {
  if (appPasswords.every(({ suspendedAt }) => suspendedAt === null)) return null;
  return (
    <p class="notice bad">
      {home.suspendedText} <a href="/app-passwords/keep">{home.suspendedLink}</a>
    </p>
  );
}

/** Returns the page that asks which suspended app passwords to keep. */
export function keepAppPasswordsPage(
  visit: Visit,
  content: { appPasswords: readonly AppPassword[]; next: string | undefined },
): Page {
  const { keepAppPasswords, later, save } = visit.texts;
  const { title, lead, legend } = keepAppPasswords;
  const body = (
    <form method="post" action="/app-passwords/keep">
      <HiddenFields values={{ next: content.next }} />
      <fieldset class="field">
        <legend>{legend}</legend>
        <div class="choices">
          {content.appPasswords.map((appPassword) => (
            <label>
              <input type="checkbox" name={appPassword.id} />
              <span>
                {appPassword.label}
                <br />
                <span class="quiet small">{renderCredentialTimes(visit, appPassword)}</span>
              </span>
            </label>
          ))}
        </div>
      </fieldset>
      <FormActions leaveText={later}>
        <button>{save}</button>
      </FormActions>
    </form>
  );
  return { title, lead, body };
}

/** Returns the page that says that the account has the maximum number of app passwords. */
export function appPasswordsFullPage({ texts: { home, appPassword, account } }: Visit): Page {
  const next = { href: '/account', text: account };
  return messagePage(home.appPasswords, appPassword.tooMany, next, 409);
}
