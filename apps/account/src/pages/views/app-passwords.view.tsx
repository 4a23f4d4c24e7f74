import type { AppPassword } from '../../credentials/app-passwords.js';
import type { Page, Visit } from '../document.js';
import type { Texts } from '../texts/texts.js';
import { Actions, Hidden, lifeOf } from './components.js';

/** Renders a notice if some app passwords are suspended. */
export function SuspendedNotice({
  texts: { home },
  of,
}: {
  readonly texts: Texts;
  readonly of: readonly Pick<AppPassword, 'suspendedAt'>[];
}) {
  if (of.every(({ suspendedAt }) => suspendedAt === null)) return null;
  return (
    <p class="notice bad">
      {home.suspendedText} <a href="/app-passwords/keep">{home.suspendedLink}</a>
    </p>
  );
}

/** Returns the page that asks which suspended app passwords to keep. */
export function keepAppPasswordsPage(
  visit: Visit,
  of: { appPasswords: readonly AppPassword[]; next: string | undefined },
): Page {
  const { keepAppPasswords, later, save } = visit.texts;
  const { title, lead, legend } = keepAppPasswords;
  const body = (
    <form method="post" action="/app-passwords/keep">
      <Hidden values={{ next: of.next }} />
      <fieldset class="field">
        <legend>{legend}</legend>
        <div class="choices">
          {of.appPasswords.map((appPassword) => (
            <label>
              <input type="checkbox" name={appPassword.id} />
              <span>
                {appPassword.label}
                <br />
                <span class="quiet small">{lifeOf(visit, appPassword)}</span>
              </span>
            </label>
          ))}
        </div>
      </fieldset>
      <Actions leave={later}>
        <button>{save}</button>
      </Actions>
    </form>
  );
  return { title, lead, body };
}
