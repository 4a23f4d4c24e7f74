import { Header } from '#ui';
import type { ComponentChildren } from 'preact';
import { renderToString } from 'preact-render-to-string';
import { siteAssets } from './site-assets.js';
import { type Language, languageOf, type Texts, textsOf } from './texts/texts.js';

/** Content of a page of the account app. */
export interface Page {
  readonly title: string;
  readonly heading?: string | undefined;
  /** Paragraphs below the heading. Empty values are skipped. */
  readonly lead?: ComponentChildren | readonly ComponentChildren[];
  readonly body?: ComponentChildren;
  /** HTTP status; default: 200. */
  readonly status?: number | undefined;
  /** True if the form was rejected. The title then starts with "Error", for screen readers. */
  readonly isRefused?: boolean | undefined;
  /** True for pages of the tab "Account". Their body consists of cards. */
  readonly isAccountTab?: boolean;
  /** True for pages of the tab "Connect an app". */
  readonly isConnectTab?: boolean;
  /** True for pages with a form that asks for a passkey. */
  readonly hasPasskeyForm?: boolean;
  /** URL to which the page redirects automatically. */
  readonly forwardTo?: string;
}

/** Properties of a request for a page. `isSignedIn` is true if the browser has a session. */
export interface Visit {
  readonly language: Language;
  readonly texts: Texts;
  readonly now: Date;
  readonly isSignedIn: boolean;
}

/** Returns the properties of a request, with the language that `Accept-Language` prefers. */
export function createVisit(
  acceptLanguage: string | undefined,
  isSignedIn = false,
  now = new Date(),
): Visit {
  const language = languageOf(acceptLanguage);
  return { language, texts: textsOf[language], now, isSignedIn };
}

/** Returns the HTML of a page with landmarks, one h1, a language and a skip link (WCAG 2.2 AA). */
export function renderDocument(visit: Visit, page: Page): string {
  return `<!doctype html>${renderToString(<Document visit={visit} page={page} />)}`;
}

function Document({ visit: { language, texts, isSignedIn }, page }: { visit: Visit; page: Page }) {
  const { title, heading = title, isAccountTab = false } = page;
  const currentTab = isAccountTab ? '/account' : page.isConnectTab ? '/connect' : undefined;
  const content = (
    <>
      <div class={isAccountTab ? 'intro' : 'head'}>
        <h1>{heading}</h1>
        {[page.lead].flat().map((lead) => lead && <p class="lead">{lead}</p>)}
      </div>
      {page.body}
    </>
  );
  return (
    <html lang={language}>
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        {page.forwardTo !== undefined && (
          <meta http-equiv="refresh" content={`0; url=${page.forwardTo}`} />
        )}
        <title>{`${page.isRefused ? `${texts.problem}: ` : ''}${title} · ${texts.product}`}</title>
        <link rel="manifest" href="/manifest.webmanifest" />
        {siteAssets && (
          <>
            <link rel="icon" href={siteAssets.icon} />
            <link rel="apple-touch-icon" href={siteAssets.touchIcon} />
            <link rel="stylesheet" href={siteAssets.style} />
            <script type="module" src={siteAssets.script} />
            {page.hasPasskeyForm && <script type="module" src={siteAssets.passkeyScript} />}
          </>
        )}
      </head>
      <body>
        <Header texts={texts} isSignedIn={isSignedIn} current={currentTab} />
        <main id="content" class={isAccountTab ? undefined : 'narrow'}>
          {isAccountTab ? content : <div class="card">{content}</div>}
        </main>
      </body>
    </html>
  );
}
