import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { isSignedOut } from '../data/session.js';
import { texts } from '../texts/texts.js';

/** True after the first page was shown. Only later pages move the focus to their heading. */
let hasNavigated = false;

/** Renders a page. After a navigation, the heading gets the focus for screen readers. */
export function Page({
  title,
  lead,
  children,
}: {
  title: string;
  lead?: string;
  children: ComponentChildren;
}) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${title} · ${texts.product}`;
    if (hasNavigated) {
      scrollTo(0, 0);
      heading.current?.focus({ preventScroll: true });
    }
    hasNavigated = true;
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

/**
 * Renders an error with a button that retries, instead of content that failed to load. Renders
 * nothing after the end of the session, because the banner then reports the sign-out.
 */
export function LoadFailure({ onRetry }: { onRetry: () => void }) {
  if (isSignedOut.value) return null;
  return (
    <div class="stack" role="alert">
      <p class="notice bad">{texts.failed}</p>
      <p class="actions">
        <button onClick={onRetry}>{texts.retry}</button>
      </p>
    </div>
  );
}
