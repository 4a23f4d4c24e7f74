import { areAlikeUrls, faultInHttpUrl, faultInSpacedUrl, textLimits } from '#contracts';

/** A pair of `update_urls`: the sent URL, and the one in use, which is empty if it is unusable. */
export type UrlUpdate = [sent: string, used: string];

/** Schemes of players for feeds, instead of http or in front of a whole URL. */
const feedScheme = /^(?:feed|itpc|itms|pcast):(?:\/\/)?/i;
/** http or https in front of another one: a whole URL was pasted behind a given scheme. */
const repeatedScheme = /^(?:https?(?::\/\/?|\/\/))+(?=https?(?::\/|\/\/))/i;
/** http or https without its colon or a slash, often after another scheme. */
const damagedScheme = /^(https?)(?::\/|\/\/)(?!\/)/i;
/** Any scheme; digits after the colon are a port. */
const anyScheme = /^[a-z][a-z\d+.-]*:(?!\d)/i;
/** A host name with a dot in any script, an optional port and path: a URL without a scheme. */
const hostWithoutScheme =
  /^[\p{L}\p{N}][\p{L}\p{N}\p{M}-]{0,62}(?:\.[\p{L}\p{N}\p{M}-]{1,63}){1,10}\.?(?::\d{1,5})?(?:[/?#]|$)/u;

/**
 * Returns a feed URL that the services accept; `undefined` for an unusable one
 * (docs/reference/gpodder.md, "URLs"). Acceptable URLs stay unchanged, except for white space
 * around them.
 */
export function repairFeedUrl(sent: string): string | undefined {
  // A URL of this length cannot become valid, and its repair would be slow.
  if (sent.length > 2 * textLimits.url) return undefined;
  const trimmed = sent.trim();
  const scheme = feedScheme.exec(trimmed)?.[0];
  const rest = trimmed
    .slice(scheme?.length ?? 0)
    .replace(repeatedScheme, '')
    .replace(damagedScheme, '$1://');
  const isBare = scheme === undefined ? hostWithoutScheme.test(rest) : !anyScheme.test(rest);
  const url = (isBare ? `http://${rest}` : rest).replace(/\s/g, '%20');
  return faultInHttpUrl(url) === undefined ? url : undefined;
}

/** Returns an enclosure URL without white space around it; `undefined` for an unusable one. */
export function repairEnclosureUrl(sent: string): string | undefined {
  if (sent.length > 2 * textLimits.url) return undefined;
  const url = sent.trim();
  return url === '' || faultInSpacedUrl(url) !== undefined ? undefined : url;
}

/**
 * Collects the `update_urls` of one answer: each changed pair once. A repaired former URL of a
 * subscription is paired with the subscription's current URL.
 */
export class UrlUpdates {
  private readonly used = new Map<string, string>();

  /** Adds a repaired or unusable URL. */
  addRepaired(sent: string, used: string | undefined): void {
    if (sent !== used) this.used.set(sent, used ?? '');
  }

  /** Adds the current URL of a subscription that moved. */
  addMoved(sent: string, used: string, current: string): void {
    if (!areAlikeUrls(used, current)) this.used.set(sent, current);
  }

  /** Returns the value of `update_urls`. */
  get pairs(): UrlUpdate[] {
    return [...this.used];
  }
}
