/** Stored cookie. */
interface Cookie {
  readonly name: string;
  readonly value: string;
  readonly path: string;
}

/** HTTP client with cookies, which follows redirects step by step. */
export class HttpBrowser {
  cookies: Cookie[] = [];

  /** @param headers of each request. */
  constructor(readonly headers: Readonly<Record<string, string>> = {}) {}

  /** Sends a request with the cookies and stores those of the response. */
  async fetch(url: string | URL, init: RequestInit = {}): Promise<Response> {
    const { pathname } = new URL(url);
    const sent = this.cookies.filter(
      ({ path }) => pathname === path || pathname.startsWith(`${path.replace(/\/$/, '')}/`),
    );
    const cookie = sent.map(({ name, value }) => `${name}=${value}`).join('; ');
    const headers = {
      accept: 'text/html',
      ...this.headers,
      ...(cookie && { cookie }),
      ...init.headers,
    };
    const response = await fetch(url, { ...init, headers, redirect: 'manual' });
    for (const line of response.headers.getSetCookie()) this.keep(line, pathname);
    return response;
  }

  /** Returns the target of a redirect. @throws Error for any other response. */
  static target(response: Response, base: string | URL): URL {
    const location = response.headers.get('location');
    if (location === null) throw new Error(`no redirect, but ${response.status}`);
    return new URL(location, base);
  }

  /** Opens an authorization URL. @returns the URL of the consent page. */
  async ask(authorizationUrl: URL): Promise<URL> {
    return HttpBrowser.target(await this.fetch(authorizationUrl), authorizationUrl);
  }

  /** Allows or denies on the consent page. @returns the redirect URL of the app. */
  async decide(page: URL, decision: 'allow' | 'deny' = 'allow'): Promise<URL> {
    const answer = await this.fetch(`${page.href}${decision === 'deny' ? '?deny' : ''}`, {
      method: 'POST',
    });
    if (!answer.ok) throw new Error(`status of the decision: ${answer.status}`);
    const forward = (await answer.json()) as string;
    return HttpBrowser.target(await this.fetch(forward), forward);
  }

  /** Opens an authorization URL and allows it. @returns the redirect URL of the app. */
  async allow(authorizationUrl: URL): Promise<URL> {
    return this.decide(await this.ask(authorizationUrl));
  }

  private keep(line: string, from: string): void {
    const [pair = '', ...attributes] = line.split(/; */);
    const at = pair.indexOf('=');
    const [name, value] = [pair.slice(0, at), pair.slice(at + 1)];
    const attribute = (key: string) =>
      attributes.find((one) => one.toLowerCase().startsWith(`${key}=`))?.slice(key.length + 1);
    const path = attribute('path') ?? from;
    this.cookies = this.cookies.filter((cookie) => cookie.name !== name || cookie.path !== path);
    const isGone = new Date(attribute('expires') ?? Date.now() + 1_000).getTime() <= Date.now();
    if (!isGone) this.cookies.push({ name, value, path });
  }
}
