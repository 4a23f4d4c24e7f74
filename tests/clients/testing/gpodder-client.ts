import type { Account } from './clients-context.js';
import { basic, exchange } from './http-exchange.js';

/** The answer to a read of subscriptions. */
interface Delta {
  readonly add: string[];
  readonly remove: string[];
  readonly timestamp: number;
}

/** Sends requests of the gpodder API v2 with Basic, and without a cookie. */
export class GpodderClient {
  constructor(
    private readonly server: string,
    private readonly account: Account,
  ) {}

  /** Returns the JSON of the answer to a request. @throws Error for a status other than 200. */
  async send<Body>(method: string, path: string, body?: unknown): Promise<Body> {
    const headers = { authorization: basic(this.account.name, this.account.password) };
    const sent = body === undefined ? {} : { body: JSON.stringify(body) };
    const { status, text } = await exchange({ method, url: this.server + path, headers, ...sent });
    if (status !== 200) throw new Error(`${method} ${path}: ${status} ${text}`);
    return JSON.parse(text) as Body;
  }

  /** Adds and removes subscriptions with a device. */
  change(device: string, add: readonly string[], remove: readonly string[] = []): Promise<unknown> {
    return this.send('POST', this.subscriptionsOf(device), { add, remove });
  }

  /** Reads the changes of subscriptions with a device. */
  delta(device: string, since = 0): Promise<Delta> {
    return this.send('GET', `${this.subscriptionsOf(device)}?since=${since}`);
  }

  private subscriptionsOf(device: string): string {
    return `/api/2/subscriptions/${this.account.name}/${device}.json`;
  }
}
