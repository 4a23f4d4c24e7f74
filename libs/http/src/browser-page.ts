import { createHash } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';

/** CSS with the colours of libs/ui/src/style.css. Inline, as the site can be on another host. */
const style =
  ':root{color-scheme:light dark;background:light-dark(#f4f3f8,#14121b)}' +
  'body{font:1rem/1.5 system-ui,sans-serif;max-width:32rem;margin:10vh auto;padding:0 1rem;' +
  'color:light-dark(#1d1b26,#f0eef6)}h1{font-size:1.625rem;line-height:1.2}' +
  'a{color:light-dark(#5b3fc4,#b9a6ff)}small{color:light-dark(#5b5768,#b4aec4)}';
const styleHash = createHash('sha256').update(style).digest('base64');

const pageTexts = {
  en: {
    title: 'This address is for podcast apps',
    text: 'Apps sync here. Your podcasts and the steps to connect an app are on the site.',
    podcasts: 'Your podcasts',
    connect: 'Connect an app',
    answer: 'Answer to an app',
  },
  de: {
    title: 'Diese Adresse ist für Podcast-Apps',
    text: 'Hier synchronisieren Apps. Deine Podcasts und eine Anleitung sind auf der Website.',
    podcasts: 'Deine Podcasts',
    connect: 'App verbinden',
    answer: 'Antwort an eine App',
  },
} as const;

/** Returns true if a browser requests a page. Podcast apps do not accept HTML. */
export function isOpenedByBrowser({ method, headers }: FastifyRequest): boolean {
  return (
    method === 'GET' &&
    headers.authorization === undefined &&
    /\btext\/html\b/.test(headers.accept ?? '')
  );
}

/**
 * Sends an error as a page with links to the site. Replaces a Basic challenge of a 401 by Bearer,
 * because browsers open a password dialog for Basic.
 *
 * @param site base URL of the pages of accounts; empty for this origin.
 */
export function sendBrowserPage(reply: FastifyReply, message: string, site: string): FastifyReply {
  if (reply.statusCode === 401) void reply.header('www-authenticate', 'Bearer');
  const language = /^de\b/i.test(reply.request.headers['accept-language'] ?? '') ? 'de' : 'en';
  return reply
    .type('text/html; charset=utf-8')
    .header('vary', 'accept')
    .header(
      'content-security-policy',
      `default-src 'none'; style-src 'sha256-${styleHash}'; frame-ancestors 'none'`,
    )
    .send(renderPage(language, site, `${reply.statusCode} ${message}`));
}

function renderPage(language: keyof typeof pageTexts, site: string, answer: string): string {
  const { title, text, podcasts, connect, answer: label } = pageTexts[language];
  return (
    `<!doctype html><html lang="${language}"><head><meta charset="utf-8">` +
    '<meta name="viewport" content="width=device-width, initial-scale=1">' +
    `<title>${title} · Podcast Sync</title><style>${style}</style></head>` +
    `<body><main><h1>${title}</h1><p>${text}</p>` +
    `<p><a href="${escapeHtml(site)}/console/">${podcasts}</a> · ` +
    `<a href="${escapeHtml(site)}/connect">${connect}</a></p>` +
    `<p><small>${label}: ${escapeHtml(answer)}</small></p></main></body></html>`
  );
}

const escapeHtml = (text: string) =>
  text.replace(/[&<>"]/g, (character) => `&#${character.codePointAt(0)};`);
