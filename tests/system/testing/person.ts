import { HttpBrowser } from '../../../apps/account/testing/http-browser.js';

/** A person's browser on the account pages. `cookies` has the values that are secrets. */
export class Person {
  private readonly browser: HttpBrowser;

  constructor(private readonly origin: string) {
    this.browser = new HttpBrowser({ origin, 'sec-fetch-site': 'same-origin' });
  }

  get cookies(): string[] {
    return this.browser.cookies.map(({ value }) => value).filter((value) => value.length >= 20);
  }

  async read(path: string): Promise<string> {
    return (await this.browser.fetch(new URL(path, this.origin))).text();
  }

  /** Returns the redirect target of a page. */
  async follow(path: string): Promise<URL> {
    const url = new URL(path, this.origin);
    return HttpBrowser.target(await this.browser.fetch(url), url);
  }

  /** Submits a form. @returns the text of the page that the browser is redirected to. */
  async submit(path: string, form: Record<string, string>, expected = [200, 303]): Promise<string> {
    const url = new URL(path, this.origin);
    const answer = await this.browser.fetch(url, {
      method: 'POST',
      body: new URLSearchParams(form),
    });
    if (!expected.includes(answer.status))
      throw new Error(`${path} was answered with ${answer.status}`);
    const location = answer.headers.get('location');
    return location === null ? answer.text() : this.read(location);
  }
}

/** Returns the secret that a page shows only once; an empty text without one. */
export const shownSecret = (page: string) =>
  /class="secret"[^>]*>([^<]+)</.exec(page)?.[1]?.trim() ?? '';
