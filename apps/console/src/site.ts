// The script of account pages (apps/account/src/pages/document.tsx), which also work without it. It
// shows the buttons that copy or print a text or reveal a password, scrolls to the current tab, and
// reloads pages that wait for an app to connect.
import { showCurrentTab } from './ui/current.tab.js';

const pollMs = 3_000;

/** Copies the text of an element; without TLS, browsers only copy a selection. */
async function copy(button: HTMLButtonElement, element: HTMLElement): Promise<void> {
  if (isSecureContext) await navigator.clipboard.writeText(element.innerText.trim());
  else {
    getSelection()?.selectAllChildren(element);
    document.execCommand('copy');
  }
  button.textContent = button.dataset['done'] ?? '';
}

/** Shows or hides a password. Hides it when the form is sent, so that browsers recognize it. */
function reveal(button: HTMLButtonElement, element: HTMLElement): void {
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
  if (action === 'reveal') reveal(button, element);
  else
    button.addEventListener(
      'click',
      () => void (action === 'print' ? print() : copy(button, element)),
    );
  button.hidden = false;
}

showCurrentTab();

const awaited = document.querySelector<HTMLElement>('[data-wait]')?.dataset['wait'];

/** Requests the page, and reloads it if its `data-wait` has changed. Otherwise polls again. */
async function reloadIfChanged(): Promise<void> {
  const answer = await fetch(location.href, { headers: { accept: 'text/html' } });
  if (answer.ok && !(await answer.text()).includes(`data-wait="${awaited}"`))
    return location.reload();
  pollLater();
}

function pollLater(): void {
  setTimeout(() => void reloadIfChanged().catch(pollLater), pollMs);
}

if (awaited !== undefined) pollLater();
