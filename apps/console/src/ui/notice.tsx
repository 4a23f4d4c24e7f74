import { signal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { isSignedOut } from '../data/session.js';
import { texts } from '../texts/texts.js';

/** Milliseconds until a notice disappears. A notice with the pointer or the focus stays. */
const noticeDuration = 10_000;

interface NoticeContent {
  readonly text: string;
  readonly isError?: boolean;
  readonly undo?: () => void;
}

const currentNotice = signal<NoticeContent>({ text: '' });

/**
 * Shows a notice for some seconds or until the next notice, and announces it to screen readers.
 * Shows no error after the end of the session, because the banner then reports the sign-out.
 */
export function showNotice(text: string, isError = false): void {
  if (isError && isSignedOut.value) return;
  currentNotice.value = { text, isError };
}

/** Removes the notice from the page. */
export function hideNotice(): void {
  currentNotice.value = { text: '' };
}

/** Shows a notice about a change, with a button that calls `undo`. */
export function showUndo(text: string, undo: () => void): void {
  currentNotice.value = { text, undo };
}

/** Renders the notice of {@link showNotice} or {@link showUndo}. */
export function Notice() {
  const noticeElement = useRef<HTMLDivElement>(null);
  const content = currentNotice.value;
  const { text, isError, undo } = content;
  useEffect(() => {
    if (text === '') return undefined;
    const timer = setInterval(
      () => noticeElement.current?.matches(':hover, :focus-within') || hideNotice(),
      noticeDuration,
    );
    return () => clearInterval(timer);
  }, [content]);
  const runUndo = () => {
    hideNotice();
    undo?.();
  };
  return (
    <div ref={noticeElement} class="toast" role="status">
      {text !== '' && (
        <p class={isError ? 'notice bad' : 'notice good'}>
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
