import { areAlikeUrls, faultInHttpUrl, faultInSpacedUrl, textLimits } from '#contracts';

/** A pair of `update_urls`: the sent URL, and the URL in use; empty if the sent URL is unusable. */
export type UrlUpdate = [sent: string, used: string];

/** Schemes that open a player: `feed://a.example/x` or `feed:https://a.example/x`. */
const feedScheme = /^(?:feed|itpc|itms|pcast):(?:\/\/)?/i;
/** A repeated scheme, as in `http://https://a.example`: a URL pasted after a given `http://`. */
const repeatedScheme = /^(?:https?(?::\/\/?|\/\/))+(?=https?(?::\/|\/\/))/i;
/** http or https that lacks the colon or one slash: `https//a.example`, `http:/a.example`. */
const damagedScheme = /^(https?)(?::\/|\/\/)(?!\/)/i;
/** Any scheme. `a.example:8080` has none, because digits after a colon are a port. */
const anyScheme = /^[a-z][a-z\d+.-]*:(?!\d)/i;
/** A URL without a scheme: a host name of any script with a dot, an optional port and path. */
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
 * Collects the `update_urls` of one answer: one pair for each sent URL that changed. A former URL
 * of a subscription is paired with the subscription's current URL, if they differ in more than
 * scheme and trailing slashes.
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
