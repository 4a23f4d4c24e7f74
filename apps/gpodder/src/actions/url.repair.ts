import { faultInHttpUrl, faultInSpacedUrl, textLimits } from '#contracts';

/** A pair of `update_urls`: what the client sent, and what is used in its place; empty where it can't be used. */
export type UrlUpdate = [sent: string, used: string];

/** The names that players register for feeds, in the place of http or before a whole URL. */
const feedScheme = /^(?:feed|itpc|itms|pcast):(?:\/\/)?/i;
/** http or https whose colon or slash got lost, often behind another scheme. */
const damagedScheme = /^(https?)(?::\/|\/\/)(?!\/)/i;
/** Any scheme; digits after the colon are a port. */
const anyScheme = /^[a-z][a-z\d+.-]*:(?!\d)/i;
/** A host name with a dot, of any script, perhaps with a port, and anything behind it: a URL whose scheme nobody typed. */
const hostWithoutScheme =
  /^[\p{L}\p{N}][\p{L}\p{N}\p{M}-]{0,62}(?:\.[\p{L}\p{N}\p{M}-]{1,63}){1,10}\.?(?::\d{1,5})?(?:[/?#]|$)/u;

/**
 * The URL of a feed as the services take it, out of what a client sent; `undefined` where it can't be used (docs/reference/gpodder.md,
 * "URLs"). A URL that they take as it is stays as it is, but for white space around it.
 */
export function repairFeedUrl(sent: string): string | undefined {
  // Nothing is as long once it is repaired: neither time nor memory goes into it.
  if (sent.length > 2 * textLimits.url) return undefined;
  const trimmed = sent.trim();
  const scheme = feedScheme.exec(trimmed)?.[0];
  const rest = trimmed.slice(scheme?.length ?? 0).replace(damagedScheme, '$1://');
  const isBare = scheme === undefined ? hostWithoutScheme.test(rest) : !anyScheme.test(rest);
  const url = (isBare ? `http://${rest}` : rest).replace(/\s/g, '%20');
  return faultInHttpUrl(url) === undefined ? url : undefined;
}

/** The URL of an enclosure as the services take it: without white space around it; `undefined` where it can't be used. */
export function repairEnclosureUrl(sent: string): string | undefined {
  if (sent.length > 2 * textLimits.url) return undefined;
  const url = sent.trim();
  return url === '' || faultInSpacedUrl(url) !== undefined ? undefined : url;
}

/**
 * The `update_urls` of one answer: each pair once, and none where both are the same. One that was repaired and then turned
 * out to be the former URL of a subscription is told with the URL that this has now.
 */
export class UrlUpdates {
  private readonly used = new Map<string, string>();

  /** Notes what became of a URL. */
  repaired(sent: string, used: string | undefined): void {
    if (sent !== used) this.used.set(sent, used ?? '');
  }

  /** Notes that what was used is no longer the current URL of its subscription. */
  moved(sent: string, used: string, current: string): void {
    if (!isAlike(used, current)) this.used.set(sent, current);
  }

  get pairs(): UrlUpdate[] {
    return [...this.used];
  }
}

/** Whether two URLs differ in their scheme and in slashes at their end alone: no client needs to be told. */
export function isAlike(one: string, other: string): boolean {
  return bare(one) === bare(other);
}

function bare(url: string): string {
  let end = url.length;
  while (url[end - 1] === '/') end -= 1;
  return url.slice(0, end).replace(/^https?:\/\//i, '');
}
