/** A trusted issuer of tokens, and the source of its keys. */
export interface TrustedIssuer {
  /** The exact claim `iss` of the issuer's tokens. */
  readonly issuer: string;
  /** Source of the keys that verify the tokens: a URL, a file, or OpenID Connect discovery. */
  readonly keys: { readonly url: string } | { readonly file: string } | 'discovery';
}

/** The environment variables about issuers. */
interface IssuerVariables {
  AUTH_ISSUER: readonly string[];
  AUTH_JWKS_URL?: string | undefined;
  AUTH_JWKS_FILE?: string | undefined;
}

const httpUrlPattern = /^https?:\/\//;

/** Returns the configured issuers. @throws Error `VARIABLE: problem` for an invalid variable. */
export function trustedIssuers(config: IssuerVariables): TrustedIssuer[] {
  const issuers = config.AUTH_ISSUER;
  const urls = parseValuesByIssuer('AUTH_JWKS_URL', config.AUTH_JWKS_URL, issuers);
  const files = parseValuesByIssuer('AUTH_JWKS_FILE', config.AUTH_JWKS_FILE, issuers);
  for (const url of urls.values())
    if (!httpUrlPattern.test(url) || !URL.canParse(url))
      throw new Error(`AUTH_JWKS_URL: ${url} is not an http or https URL`);
  return issuers.map((issuer) => {
    const [url, file] = [urls.get(issuer), files.get(issuer)];
    if (url !== undefined && file !== undefined)
      throw new Error(`AUTH_JWKS_URL: ${issuer} also has a value in AUTH_JWKS_FILE, set only one`);
    if (url !== undefined) return { issuer, keys: { url } };
    if (file !== undefined) return { issuer, keys: { file } };
    if (!httpUrlPattern.test(issuer) || !URL.canParse(issuer))
      throw new Error(
        `AUTH_ISSUER: ${issuer} is not an http or https URL, so its keys cannot be discovered: ` +
          'set AUTH_JWKS_URL or AUTH_JWKS_FILE',
      );
    return { issuer, keys: 'discovery' };
  });
}

/**
 * Parses a comma-separated list of `issuer=value` and returns the value of each issuer. An element
 * without an issuer is the value of the first issuer in `issuers`.
 *
 * @throws Error for an issuer that `issuers` does not contain; for two values or an empty value.
 */
function parseValuesByIssuer(
  variable: string,
  list: string | undefined,
  issuers: readonly string[],
): Map<string, string> {
  const valueByIssuer = new Map<string, string>();
  for (const element of list?.split(',').map((value) => value.trim()) ?? []) {
    const namedIssuer = issuers.find((issuer) => element.startsWith(`${issuer}=`));
    const value = namedIssuer === undefined ? element : element.slice(namedIssuer.length + 1);
    if (namedIssuer === undefined && /^(urn:|https?:\/\/)[^?]*=/.test(element))
      throw new Error(`${variable}: AUTH_ISSUER does not contain the issuer of "${element}"`);
    const issuer = namedIssuer ?? (issuers[0] as string);
    if (value === '' || valueByIssuer.has(issuer))
      throw new Error(`${variable}: ${issuer} needs exactly one value`);
    valueByIssuer.set(issuer, value);
  }
  return valueByIssuer;
}
