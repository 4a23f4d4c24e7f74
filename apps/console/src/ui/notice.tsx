import { signal } from '@preact/signals';
import { isSignedOut } from '../data/session.js';
import { texts } from '../texts/texts.js';

const notice = signal<{ text: string; isBad: boolean }>({ text: '', isBad: false });

/**
 * Shows a notice until the next one, and announces it to screen readers. Errors after the end of
 * the session are not shown, because the banner reports it.
 */
export function showNotice(text: string, isBad = false): void {
  if (isBad && isSignedOut.value) return;
  notice.value = { text, isBad };
}

/** Renders the notice of {@link showNotice}. */
export function Notice() {
  const { text, isBad } = notice.value;
  return (
    <div class="toast" role="status">
      {text !== '' && (
        <p class={isBad ? 'notice bad' : 'notice good'}>
          <bdi>{text}</bdi>
          <button class="bare" onClick={() => showNotice('')}>
            {texts.dismiss}
          </button>
        </p>
      )}
    </div>
  );
}
