import type { Account } from './clients.context.js';
import { basic, exchange } from './http.exchange.js';

/** The answer to a read of subscriptions. */
interface Delta {
  readonly add: string[];
  readonly remove: string[];
  readonly timestamp: number;
}

/** Sends requests of the gpodder API v2, with Basic each time. */
export class FacadeUser {
  constructor(
    private readonly server: string,
    private readonly account: Account,
  ) {}

  /** Sends what is expected to be answered with 200 and JSON. */
  async ok<Body>(method: string, path: string, body?: unknown): Promise<Body> {
    const headers = { authorization: basic(this.account.name, this.account.password) };
    const sent = body === undefined ? {} : { body: JSON.stringify(body) };
    const { status, text } = await exchange({ method, url: this.server + path, headers, ...sent });
    if (status !== 200) throw new Error(`${method} ${path}: ${status} ${text}`);
    return JSON.parse(text) as Body;
  }

  /** Adds and removes at a device. */
  change(device: string, add: readonly string[], remove: readonly string[] = []): Promise<unknown> {
    return this.ok('POST', `/api/2/subscriptions/${this.account.name}/${device}.json`, {
      add,
      remove,
    });
  }

  delta(device: string, since = 0): Promise<Delta> {
    return this.ok(
      'GET',
      `/api/2/subscriptions/${this.account.name}/${device}.json?since=${since}`,
    );
  }
}
