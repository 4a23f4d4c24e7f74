import { exchange } from './http.exchange.js';
import { JsonReading } from './json.reading.js';

/** What an app knows at the end of Nextcloud's login flow (v2). */
export interface LoggedIn {
  readonly server: string;
  readonly user: string;
  readonly password: string;
}

/** A login that has begun. */
export interface BegunLogin {
  /** Where the app sends a browser. */
  readonly login: string;
  /** Asks once. @returns undefined while nobody has decided. @throws Error for every other answer than 200 and 404. */
  poll(): Promise<LoggedIn | undefined>;
}

/** How an app sends its token when it polls: Cardo as JSON, all others as a form. */
export type TokenForm = 'form' | 'json';

/**
 * Begins a login flow as apps do: AntennaPod's NextcloudLoginFlow.java (`doRequest`: a form without fields), Cardo's
 * Nextcloud.ts (`login`: no body at all), Music Assistant's setup_flow.py.
 */
export async function beginLogin(server: string, userAgent: string, form: TokenForm): Promise<BegunLogin> {
  const headers = { 'User-Agent': userAgent };
  const type = { form: 'application/x-www-form-urlencoded', json: 'application/json' }[form];
  const begun = await exchange({
    method: 'POST',
    url: `${server}/index.php/login/v2`,
    headers: form === 'form' ? { ...headers, 'Content-Type': type } : headers,
    ...(form === 'form' && { body: '' }),
  });
  if (begun.status !== 200) throw new Error(`login/v2: ${begun.status}`);
  const { poll } = JSON.parse(begun.text) as { poll: unknown };
  const [token, endpoint] = ['token', 'endpoint'].map((name) => JsonReading.from(poll).text(name)) as [string, string];
  const body = form === 'form' ? `token=${token}` : JSON.stringify({ token });
  return {
    login: JsonReading.of(begun.text).text('login'),
    poll: async () => {
      const answer = await exchange({
        method: 'POST',
        url: endpoint,
        headers: { ...headers, 'Content-Type': type },
        body,
      });
      if (answer.status === 404) return undefined;
      if (answer.status !== 200) throw new Error(`poll: ${answer.status}`);
      const json = JsonReading.of(answer.text);
      return { server: json.text('server'), user: json.text('loginName'), password: json.text('appPassword') };
    },
  };
}
