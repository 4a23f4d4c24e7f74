import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { texts } from '../texts/texts.js';

/** Whether a page was shown before: the first one is not to take the focus from where a browser begins. */
let wasShown = false;

/** A page: its heading gets the focus when somebody comes from another page, so that it is told and read on from. */
export function Page({ title, lead, children }: { title: string; lead?: string; children: ComponentChildren }) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${title} · ${texts.product}`;
    if (wasShown) {
      scrollTo(0, 0);
      heading.current?.focus({ preventScroll: true });
    }
    wasShown = true;
  }, [title]);
  return (
    <>
      <div class="intro">
        <h1 ref={heading} tabIndex={-1}>
          {title}
        </h1>
        {lead !== undefined && <p class="lead">{lead}</p>}
      </div>
      {children}
    </>
  );
}

/** Renders what a page shows in place of content that could not be loaded. */
export function Failure({ onRetry }: { onRetry: () => void }) {
  return (
    <div class="stack" role="alert">
      <p class="notice bad">{texts.failed}</p>
      <p class="actions">
        <button onClick={onRetry}>{texts.retry}</button>
      </p>
    </div>
  );
}
