// The script of the pages that connect an app (apps/account/src/pages/views/connect.view.tsx). It
// adds buttons that copy a value, and repeats the question whether the app has connected.

const askEveryMs = 3_000;

/** Copies a text; without TLS, browsers only copy a selection. */
async function copy(text: string, element: HTMLElement): Promise<void> {
  if (isSecureContext) return navigator.clipboard.writeText(text);
  getSelection()?.selectAllChildren(element);
  document.execCommand('copy');
}

for (const element of document.querySelectorAll<HTMLElement>('[data-copy]')) {
  const { copy: label = '', copied = '' } = element.dataset;
  const value = element.textContent.trim();
  const button = document.createElement('button');
  button.type = 'button';
  button.className = 'plain slight';
  button.textContent = label;
  button.setAttribute('aria-live', 'polite');
  button.addEventListener('click', () => {
    void copy(value, element).then(() => {
      button.textContent = copied;
    });
  });
  element.after(button);
}

const waitsFor = document.querySelector<HTMLElement>('[data-wait]')?.dataset['wait'];

/** Loads the page again as soon as the server's answer waits for something else, or nothing. */
async function wait(): Promise<void> {
  const answer = await fetch(location.href, { headers: { accept: 'text/html' } });
  if (answer.ok && !(await answer.text()).includes(`data-wait="${waitsFor}"`))
    return location.reload();
  ask();
}

function ask(): void {
  setTimeout(() => void wait().catch(ask), askEveryMs);
}

if (waitsFor !== undefined) ask();
