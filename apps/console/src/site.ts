// The script of account pages (apps/account/src/pages/document.tsx), which also work without it. It
// shows the buttons that copy or print a text or reveal a password, scrolls to the current tab, and
// reloads pages that wait for an app to connect.
import { showCurrentTab } from './ui/current-tab.js';

/** Interval in milliseconds at which a page checks if an app has connected. */
const pollMs = 3_000;

/** Copies the text of an element. Outside a secure context, the Clipboard API is missing. */
async function copyText(button: HTMLButtonElement, element: HTMLElement): Promise<void> {
  if (isSecureContext) await navigator.clipboard.writeText(element.innerText.trim());
  else {
    getSelection()?.selectAllChildren(element);
    document.execCommand('copy');
  }
  button.textContent = button.dataset['done'] ?? '';
}

/** Makes a button show or hide a password. Sending the form hides it, for password managers. */
function addPasswordToggle(button: HTMLButtonElement, element: HTMLElement): void {
  const input = element as HTMLInputElement;
  const { textContent: show } = button;
  const set = (isShown: boolean) => {
    input.type = isShown ? 'text' : 'password';
    button.textContent = isShown ? (button.dataset['done'] ?? '') : show;
  };
  button.addEventListener('click', () => set(input.type === 'password'));
  input.form?.addEventListener('submit', () => set(false));
}

for (const button of document.querySelectorAll<HTMLButtonElement>('button[data-action]')) {
  const element = document.getElementById(button.getAttribute('aria-controls') ?? '') ?? button;
  const { action } = button.dataset;
  if (action === 'reveal') addPasswordToggle(button, element);
  else
    button.addEventListener(
      'click',
      () => void (action === 'print' ? print() : copyText(button, element)),
    );
  button.hidden = false;
}

showCurrentTab();

/** State that the page waits to leave (`data-wait`); undefined if the page does not wait. */
const waitState = document.querySelector<HTMLElement>('[data-wait]')?.dataset['wait'];

/** Fetches this page, and reloads it if its `data-wait` has changed. Otherwise polls again. */
async function reloadIfChanged(): Promise<void> {
  const answer = await fetch(location.href, { headers: { accept: 'text/html' } });
  if (answer.ok && !(await answer.text()).includes(`data-wait="${waitState}"`))
    return location.reload();
  pollLater();
}

function pollLater(): void {
  setTimeout(() => void reloadIfChanged().catch(pollLater), pollMs);
}

if (waitState !== undefined) pollLater();
