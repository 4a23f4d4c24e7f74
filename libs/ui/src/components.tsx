import type { ComponentChildren, InputHTMLAttributes, RefObject } from 'preact';
import type { FrameTexts } from './texts.js';

/** Path of each tab, with the key of its name in `nav` of {@link FrameTexts}. */
const tabs = [
  ['/console/', 'podcasts'],
  ['/console/new', 'new'],
  ['/console/history', 'history'],
  ['/console/statistics', 'statistics'],
  ['/console/data', 'data'],
  ['/connect', 'connect'],
  ['/account', 'account'],
] as const;

/** Returns true for equal paths, with or without a trailing slash. */
const isSamePath = (path: string | undefined, other: string) =>
  path?.replace(/\/$/, '') === other.replace(/\/$/, '');

interface HeaderProps {
  readonly texts: FrameTexts;
  /** If false, the header shows no tabs and no sign-out button. */
  readonly isSignedIn: boolean;
  /** Path of the current page. */
  readonly current?: string | undefined;
}

/** Renders the top of each page: skip link, brand, tabs and sign-out button. */
export function Header({ texts, isSignedIn, current }: HeaderProps) {
  return (
    <>
      <a class="skip" href="#content">
        {texts.skip}
      </a>
      <header class="top">
        <a class="brand" href={isSignedIn ? '/console/' : '/'}>
          <svg viewBox="0 0 32 32" aria-hidden="true" focusable="false">
            <rect class="plate" width="32" height="32" rx="9" />
            <path class="wave" d="M8 13.5v5M13.3 9.5v13M18.6 12v8M24 14.5v3" />
          </svg>
          {texts.product}
        </a>
        {isSignedIn && (
          <>
            <nav aria-label={texts.nav.label}>
              {tabs.map(([path, name]) => (
                <a
                  key={path}
                  href={path}
                  aria-current={isSamePath(current, path) ? 'page' : undefined}
                >
                  {texts.nav[name]}
                </a>
              ))}
            </nav>
            <form method="post" action="/sign-out">
              <button class="bare">{texts.signOut}</button>
            </form>
          </>
        )}
      </header>
    </>
  );
}

type FieldProps = InputHTMLAttributes & {
  readonly id: string;
  readonly label: string;
  readonly hint?: string | undefined;
  readonly error?: string | undefined;
};

/** Renders a labelled input. Its `name` is the id. Screen readers read hint and error with it. */
export function Field({ id, label, hint, error, ...input }: FieldProps) {
  const descriptions = [hint && `${id}-hint`, error && `${id}-error`].filter(Boolean).join(' ');
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {hint !== undefined && (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
      {error !== undefined && (
        <p class="error" id={`${id}-error`} role="alert">
          {error}
        </p>
      )}
      <input
        id={id}
        name={id}
        autocapitalize="none"
        spellcheck={false}
        aria-describedby={descriptions || undefined}
        aria-invalid={error !== undefined}
        {...input}
      />
    </div>
  );
}

interface CardProps {
  readonly title: string;
  /** The paragraph below the title. */
  readonly lead?: string | undefined;
  /** Ref to the title, for pages that move the focus there. */
  readonly heading?: RefObject<HTMLHeadingElement | null>;
  readonly children?: ComponentChildren;
}

/** Renders one section of a page. */
export function Card({ title, lead, heading, children }: CardProps) {
  return (
    <section class="card">
      <div class="head">
        <h2 ref={heading} tabIndex={heading && -1}>
          {title}
        </h2>
        {lead !== undefined && <p class="quiet small">{lead}</p>}
      </div>
      {children}
    </section>
  );
}

interface ActionLinkProps {
  readonly href: string;
  /** Class of the button: `plain`, `danger`, or none for the main action. */
  readonly look?: 'plain' | 'danger';
  readonly children: string;
}

/** Renders a link as a button, on a line of its own. */
export function ActionLink({ href, look, children }: ActionLinkProps) {
  return (
    <p class="actions">
      <a class={look ? `button ${look}` : 'button'} href={href}>
        {children}
      </a>
    </p>
  );
}

interface RowProps {
  readonly name: string;
  /** Target of the link on the name. Without it, the name is plain text. */
  readonly href?: string;
  /** Shown before the texts. */
  readonly picture?: ComponentChildren;
  readonly tag?: ComponentChildren;
  /** Paragraphs below the name. False values are left out. */
  readonly lines: readonly ComponentChildren[];
  readonly children?: ComponentChildren;
}

/** Renders a list item. Its texts can be in any language, so `bdi` isolates their direction. */
export function Row({ name, href, picture, tag, lines, children }: RowProps) {
  const nameText = <bdi title={name.slice(0, 500)}>{name}</bdi>;
  return (
    <div class="row">
      {picture}
      <div class="text">
        <p class="name">
          {href === undefined ? nameText : <a href={href}>{nameText}</a>}
          {tag}
        </p>
        {lines.map(
          (line, index) =>
            line && (
              <p key={index} class="quiet small">
                <bdi>{line}</bdi>
              </p>
            ),
        )}
      </div>
      {children}
    </div>
  );
}
