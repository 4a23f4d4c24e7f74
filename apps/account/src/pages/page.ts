import { html, type Html } from './html.js';
import { stylesheet } from './stylesheet.js';
import { type Language, languageOf, languages, type Texts } from './texts/texts.js';

/** What a view makes: the content of one page. */
export interface Page {
  title: string;
  body: Html;
  /** 200 where it is absent. */
  status?: number;
  /** Something was entered that is refused: said in the title, too, for those who hear the page. */
  refused?: boolean;
  /** Two columns of facts fit. */
  wide?: boolean;
  /** Where the browser goes by itself after this page was shown. */
  forwardTo?: string;
}

/** For whom a page is made. */
export interface Visit {
  language: Language;
  texts: Texts;
  now: Date;
  /** The name of who is signed in. */
  person?: string;
}

export function visitOf(acceptLanguage: string | undefined, person?: string, now = new Date()): Visit {
  const language = languageOf(acceptLanguage);
  return { language, texts: languages[language], now, ...(person !== undefined && { person }) };
}

const mark = html`<svg viewBox="0 0 32 32" aria-hidden="true" focusable="false">
  <rect class="plate" width="32" height="32" rx="9" />
  <g class="wave" fill="none" stroke-width="2.6" stroke-linecap="round">
    <path d="M8 13.5v5M13.3 9.5v13M18.6 12v8M24 14.5v3" />
  </g>
</svg>`;

/** The whole document of a page (WCAG 2.2 AA: landmarks, one h1, a language, a way past the header). */
export function documentOf(visit: Visit, page: Page): string {
  const { texts } = visit;
  const title = `${page.refused ? `${texts.problem}: ` : ''}${page.title} · ${texts.product}`;
  return html`<!doctype html>
    <html lang="${visit.language}">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        ${page.forwardTo !== undefined && html`<meta http-equiv="refresh" content="0; url=${page.forwardTo}" />`}
        <title>${title}</title>
        <link rel="icon" href="data:image/svg+xml,${encodeURIComponent(icon)}" />
        <link rel="stylesheet" href="${stylesheet.path}" />
      </head>
      <body>
        <a class="skip" href="#content">${texts.skip}</a>
        <header class="top">
          <a class="brand" href="/">${mark} ${texts.product}</a>
          ${
            visit.person !== undefined &&
            html`<form method="post" action="/sign-out"><button class="bare">${texts.signOut}</button></form>`
          }
        </header>
        <main id="content" class="${page.wide ? 'wide' : ''}">${page.body}</main>
      </body>
    </html>`.text;
}

const icon =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="9" fill="#5b3fc4"/>' +
  '<path d="M8 13.5v5M13.3 9.5v13M18.6 12v8M24 14.5v3" stroke="#fff" stroke-width="2.6" stroke-linecap="round"/></svg>';
