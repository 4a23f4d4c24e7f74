import { areAlikeUrls, faultInHttpUrl, faultInSpacedUrl, textLimits } from '#contracts';

/** A pair in `update_urls`: the sent URL, and the URL that the server uses; '' for none. */
export type UrlUpdate = [sent: string, used: string];

/** A scheme that opens a podcast player: `feed://a.example/x` or `feed:https://a.example/x`. */
const feedScheme = /^(?:feed|itpc|itms|pcast):(?:\/\/)?/i;
/** A repeated scheme: `http://https://a.example`, from a URL pasted after `http://`. */
const repeatedScheme = /^(?:https?(?::\/\/?|\/\/))+(?=https?(?::\/|\/\/))/i;
/** http or https without its colon or one slash: `https//a.example`, `http:/a.example`. */
const damagedScheme = /^(https?)(?::\/|\/\/)(?!\/)/i;
/** Any scheme, but not the host in `a.example:8080`, because digits after a colon are a port. */
const anyScheme = /^[a-z][a-z\d+.-]*:(?!\d)/i;
/** A URL without a scheme: a host name of any script with a dot, an optional port and path. */
const hostWithoutScheme =
  /^[\p{L}\p{N}][\p{L}\p{N}\p{M}-]{0,62}(?:\.[\p{L}\p{N}\p{M}-]{1,63}){1,10}\.?(?::\d{1,5})?(?:[/?#]|$)/u;

/**
 * Repairs a feed URL so that services accept it; `undefined` for an unusable one
 * (docs/reference/gpodder.md, "URLs"). From a valid URL it only removes surrounding white space.
 */
export function repairFeedUrl(sent: string): string | undefined {
  // Rejects a URL that is too long to become valid, because its repair would be slow.
  if (sent.length > 2 * textLimits.url) return undefined;
  const trimmed = sent.trim();
  const scheme = feedScheme.exec(trimmed)?.[0];
  const webUrl = trimmed
    .slice(scheme?.length ?? 0)
    .replace(repeatedScheme, '')
    .replace(damagedScheme, '$1://');
  const lacksScheme =
    scheme === undefined ? hostWithoutScheme.test(webUrl) : !anyScheme.test(webUrl);
  const url = (lacksScheme ? `http://${webUrl}` : webUrl).replace(/\s/g, '%20');
  return faultInHttpUrl(url) === undefined ? url : undefined;
}

/** Removes surrounding white space from an enclosure URL; `undefined` for an unusable one. */
export function repairEnclosureUrl(sent: string): string | undefined {
  if (sent.length > 2 * textLimits.url) return undefined;
  const url = sent.trim();
  return url === '' || faultInSpacedUrl(url) !== undefined ? undefined : url;
}

/**
 * Collects the `update_urls` of one answer: a pair for each sent URL that the server repaired, or
 * that is a former URL of a subscription. A current URL that differs only in scheme and trailing
 * slashes is no reason for a pair.
 */
export class UrlUpdates {
  private readonly currentUrls = new Map<string, string>();

  /** Adds a sent URL if it was repaired. @param used repaired URL; undefined if unusable. */
  addRepaired(sent: string, used: string | undefined): void {
    if (sent !== used) this.currentUrls.set(sent, used ?? '');
  }

  /**
   * Adds the current URL of a subscription whose former URL was sent.
   *
   * @param repaired the sent URL after its repair.
   */
  addMoved(sent: string, repaired: string, current: string): void {
    if (!areAlikeUrls(repaired, current)) this.currentUrls.set(sent, current);
  }

  /** Returns the value of `update_urls`. */
  get pairs(): UrlUpdate[] {
    return [...this.currentUrls];
  }
}
