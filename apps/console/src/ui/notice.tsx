import { signal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { isSignedOut } from '../data/session.js';
import { texts } from '../texts/texts.js';

/** Milliseconds until a notice disappears. It stays while the pointer or the focus is on it. */
const noticeDuration = 10_000;

interface NoticeContent {
  readonly text: string;
  readonly isBad?: boolean;
  readonly undo?: () => void;
}

const currentNotice = signal<NoticeContent>({ text: '' });

/**
 * Shows a notice for some seconds or until the next one, and announces it to screen readers. Errors
 * after the end of the session are not shown, because the banner reports it.
 */
export function showNotice(text: string, isBad = false): void {
  if (isBad && isSignedOut.value) return;
  currentNotice.value = { text, isBad };
}

/** Removes the notice from the page. */
export function hideNotice(): void {
  currentNotice.value = { text: '' };
}

/** Shows a notice of a change, with a button that calls `undo`. */
export function showUndo(text: string, undo: () => void): void {
  currentNotice.value = { text, undo };
}

/** Renders the notice of {@link showNotice} or {@link showUndo}. */
export function Notice() {
  const element = useRef<HTMLDivElement>(null);
  const content = currentNotice.value;
  const { text, isBad, undo } = content;
  useEffect(() => {
    if (text === '') return undefined;
    const timer = setInterval(
      () => element.current?.matches(':hover, :focus-within') || hideNotice(),
      noticeDuration,
    );
    return () => clearInterval(timer);
  }, [content]);
  const runUndo = () => {
    hideNotice();
    undo?.();
  };
  return (
    <div ref={element} class="toast" role="status">
      {text !== '' && (
        <p class={isBad ? 'notice bad' : 'notice good'}>
          <bdi>{text}</bdi>
          {undo && (
            <button class="bare" onClick={runUndo}>
              {texts.undo}
            </button>
          )}
          <button
            class="icon"
            title={texts.dismiss}
            aria-label={texts.dismiss}
            onClick={hideNotice}
          >
            <svg viewBox="0 0 24 24" aria-hidden="true">
              <path d="m7 7 10 10M17 7 7 17" />
            </svg>
          </button>
        </p>
      )}
    </div>
  );
}
