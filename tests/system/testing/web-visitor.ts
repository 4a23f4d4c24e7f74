/** A minimal browser for logins: keeps cookies, follows redirects, posts forms. */
export class WebVisitor {
  private readonly cookies = new Map<string, string>();

  /** Opens a page and follows redirects until the end, or to a URL that starts with `until`. */
  async open(
    url: string,
    until: string,
    form?: Record<string, string>,
  ): Promise<{ url: string; html: string }> {
    let [target, body] = [url, form && new URLSearchParams(form)];
    for (let hops = 0; hops < 10; hops++) {
      const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
      const response = await fetch(target, {
        method: body ? 'POST' : 'GET',
        body,
        headers: { cookie },
        redirect: 'manual',
      });
      for (const set of response.headers.getSetCookie()) this.keep(set);
      const location = response.headers.get('location');
      if (location === null) return { url: target, html: await response.text() };
      [target, body] = [new URL(location, target).href, undefined];
      if (target.startsWith(until)) return { url: target, html: '' };
    }
    throw new Error(`${url} leads in circles`);
  }

  /** Posts the form of a page, with its hidden fields and these. */
  submit(page: { url: string; html: string }, until: string, fields: Record<string, string> = {}) {
    const action = /<form[^>]*\baction="([^"]+)"/.exec(page.html)?.[1];
    if (action === undefined) throw new Error(`no form at ${page.url}: ${page.html.slice(0, 500)}`);
    const hidden = [
      ...page.html.matchAll(/<input[^>]*type="hidden"[^>]*name="([^"]+)"[^>]*value="([^"]*)"/g),
    ];
    const kept = Object.fromEntries(hidden.map(([, name = '', value = '']) => [name, value]));
    return this.open(new URL(action, page.url).href, until, { ...kept, ...fields });
  }

  private keep(set: string): void {
    const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(set) ?? [];
    if (value === '' || /;\s*expires=Thu, 01 Jan 1970/i.test(set)) this.cookies.delete(name);
    else this.cookies.set(name, value);
  }
}
