/** A trusted issuer of tokens, and the source of its keys. */
export interface TrustedIssuer {
  /** The exact `iss` of its tokens. */
  readonly issuer: string;
  /** Source of its keys: a URL, a file, or OpenID Connect discovery. */
  readonly keys: { readonly url: string } | { readonly file: string } | 'discovery';
}

interface IssuerVariables {
  AUTH_ISSUER: readonly string[];
  AUTH_JWKS_URL?: string | undefined;
  AUTH_JWKS_FILE?: string | undefined;
}

const webAddress = /^https?:\/\//;

/** Returns the configured issuers. @throws Error with the message `variable: problem`. */
export function trustedIssuers(config: IssuerVariables): TrustedIssuer[] {
  const issuers = config.AUTH_ISSUER;
  const urls = byIssuer('AUTH_JWKS_URL', config.AUTH_JWKS_URL, issuers);
  const files = byIssuer('AUTH_JWKS_FILE', config.AUTH_JWKS_FILE, issuers);
  for (const url of urls.values())
    if (!webAddress.test(url) || !URL.canParse(url))
      throw new Error(`AUTH_JWKS_URL: ${url} is not an http or https URL`);
  return issuers.map((issuer) => {
    const [url, file] = [urls.get(issuer), files.get(issuer)];
    if (url !== undefined && file !== undefined)
      throw new Error(`AUTH_JWKS_URL: ${issuer} also has a value in AUTH_JWKS_FILE, set only one`);
    if (url !== undefined) return { issuer, keys: { url } };
    if (file !== undefined) return { issuer, keys: { file } };
    if (!webAddress.test(issuer) || !URL.canParse(issuer))
      throw new Error(
        `AUTH_ISSUER: ${issuer} is not an http or https URL, so its keys cannot be discovered: ` +
          'set AUTH_JWKS_URL or AUTH_JWKS_FILE',
      );
    return { issuer, keys: 'discovery' };
  });
}

/**
 * Parses a comma-separated list into a map from issuer to value. An element is `issuer=value`, or
 * only the value of the first issuer.
 *
 * @throws Error for an issuer that `issuers` does not contain, or with two values or an empty one.
 */
function byIssuer(
  variable: string,
  list: string | undefined,
  issuers: readonly string[],
): Map<string, string> {
  const values = new Map<string, string>();
  for (const part of list?.split(',').map((value) => value.trim()) ?? []) {
    const named = issuers.find((issuer) => part.startsWith(`${issuer}=`));
    const value = named === undefined ? part : part.slice(named.length + 1);
    if (named === undefined && /^(urn:|https?:\/\/)[^?]*=/.test(part))
      throw new Error(`${variable}: AUTH_ISSUER does not contain the issuer of "${part}"`);
    const issuer = named ?? (issuers[0] as string);
    if (value === '' || values.has(issuer))
      throw new Error(`${variable}: ${issuer} needs exactly one value`);
    values.set(issuer, value);
  }
  return values;
}
