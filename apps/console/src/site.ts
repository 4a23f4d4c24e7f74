// The script of account pages (apps/account/src/pages/document.tsx). The pages also work without
// the script. It shows the buttons that copy or print a text or reveal a password, scrolls to the
// current tab, and reloads pages that wait for an app to connect.
import { showCurrentTab } from './ui/current-tab.js';

/** Interval in milliseconds at which a page checks if an app has connected. */
const pollMs = 3_000;

/** Copies the text of an element. Browsers have no Clipboard API outside secure contexts. */
async function copyText(button: HTMLButtonElement, element: HTMLElement): Promise<void> {
  if (isSecureContext) await navigator.clipboard.writeText(element.innerText.trim());
  else {
    getSelection()?.selectAllChildren(element);
    document.execCommand('copy');
  }
  button.textContent = button.dataset['done'] ?? '';
}

/** Makes a button show or hide a password. Submitting hides the password for password managers. */
function addPasswordToggle(button: HTMLButtonElement, element: HTMLElement): void {
  const input = element as HTMLInputElement;
  const { textContent: showLabel } = button;
  const setShown = (isShown: boolean) => {
    input.type = isShown ? 'text' : 'password';
    button.textContent = isShown ? (button.dataset['done'] ?? '') : showLabel;
  };
  button.addEventListener('click', () => setShown(input.type === 'password'));
  input.form?.addEventListener('submit', () => setShown(false));
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

/** State whose end the page waits for (`data-wait`); undefined if the page does not wait. */
const waitState = document.querySelector<HTMLElement>('[data-wait]')?.dataset['wait'];

/** Fetches this page, and reloads it if its `data-wait` has changed. Otherwise polls again. */
async function reloadIfChanged(): Promise<void> {
  const response = await fetch(location.href, { headers: { accept: 'text/html' } });
  if (response.ok && !(await response.text()).includes(`data-wait="${waitState}"`))
    return location.reload();
  schedulePoll();
}

function schedulePoll(): void {
  setTimeout(() => void reloadIfChanged().catch(schedulePoll), pollMs);
}

if (waitState !== undefined) schedulePoll();
