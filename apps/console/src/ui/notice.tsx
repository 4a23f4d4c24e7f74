import { signal } from '@preact/signals';
import { isSignedOut } from '../data/session.js';
import { texts } from '../texts/texts.js';

interface Content {
  readonly text: string;
  readonly isBad?: boolean;
  readonly undo?: () => void;
}

const notice = signal<Content>({ text: '' });

/**
 * Shows a notice until the next one, and announces it to screen readers. Errors after the end of
 * the session are not shown, because the banner reports it.
 */
export function showNotice(text: string, isBad = false): void {
  if (isBad && isSignedOut.value) return;
  notice.value = { text, isBad };
}

/** Shows a notice of a change, with a button that calls `undo`. */
export function showUndo(text: string, undo: () => void): void {
  notice.value = { text, undo };
}

/** Renders the notice of {@link showNotice} or {@link showUndo}. */
export function Notice() {
  const { text, isBad, undo } = notice.value;
  const runUndo = () => {
    showNotice('');
    undo?.();
  };
  return (
    <div class="toast" role="status">
      {text !== '' && (
        <p class={isBad ? 'notice bad' : 'notice good'}>
          <bdi>{text}</bdi>
          {undo && (
            <button class="bare" onClick={runUndo}>
              {texts.undo}
            </button>
          )}
          <button class="bare" onClick={() => showNotice('')}>
            {texts.dismiss}
          </button>
        </p>
      )}
    </div>
  );
}
