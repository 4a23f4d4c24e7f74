/** A cookie as a browser keeps it. */
interface Cookie {
  readonly name: string;
  readonly value: string;
  readonly path: string;
}

/** A browser of a test: keeps cookies, and goes where it is sent, one step at a time. */
export class BrowserVisit {
  cookies: Cookie[] = [];

  /** @param headers with every request. */
  constructor(readonly headers: Readonly<Record<string, string>> = {}) {}

  async go(url: string | URL, init: RequestInit = {}): Promise<Response> {
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

  /** Where an answer sends it. */
  static target(response: Response, base: string | URL): URL {
    const location = response.headers.get('location');
    if (location === null) throw new Error(`no redirect, but ${response.status}`);
    return new URL(location, base);
  }

  /** Opens an authorization URL, and gives the page of consent's URL. */
  async ask(authorizationUrl: URL): Promise<URL> {
    return BrowserVisit.target(await this.go(authorizationUrl), authorizationUrl);
  }

  /** Allows or denies at the page of consent. @returns where the app gets its answer. */
  async decide(page: URL, decision: 'allow' | 'deny' = 'allow'): Promise<URL> {
    const answer = await this.go(`${page.href}${decision === 'deny' ? '?deny' : ''}`, {
      method: 'POST',
    });
    if (!answer.ok) throw new Error(`the decision was answered with ${answer.status}`);
    const forward = (await answer.json()) as string;
    return BrowserVisit.target(await this.go(forward), forward);
  }

  /** The whole way of a person who allows what an app asks for. */
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
