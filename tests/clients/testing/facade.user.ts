import type { Account } from './clients.context.js';
import { basic, type ClientAnswer, exchange } from './http.exchange.js';

/** The answer to a read of subscriptions. */
export interface Delta {
  readonly add: string[];
  readonly remove: string[];
  readonly timestamp: number;
}

/** The answer to an upload. */
export interface Uploaded {
  readonly timestamp: number;
  readonly update_urls: [string, string][];
}

/** The answer to a read of episode actions. */
export interface Actions {
  readonly actions: Record<string, unknown>[];
  readonly timestamp: number;
}

/** Somebody who types requests of the gpodder API v2 by hand, with Basic each time. */
export class FacadeUser {
  constructor(
    private readonly server: string,
    readonly account: Account,
  ) {}

  send(method: string, path: string, body?: unknown): Promise<ClientAnswer> {
    const { name, password } = this.account;
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    const headers = { authorization: basic(name, password) };
    return exchange({ method, url: this.server + path, headers, ...(body !== undefined && { body: text }) });
  }

  /** Sends what is expected to be answered with 200 and JSON. */
  async ok<Body>(method: string, path: string, body?: unknown): Promise<Body> {
    const answer = await this.send(method, path, body);
    if (answer.status !== 200) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`);
    return JSON.parse(answer.text) as Body;
  }

  /** Adds and removes at a device. */
  change(device: string, add: readonly string[], remove: readonly string[] = []): Promise<Uploaded> {
    return this.ok('POST', `/api/2/subscriptions/${this.account.name}/${device}.json`, { add, remove });
  }

  delta(device: string, since = 0): Promise<Delta> {
    return this.ok('GET', `/api/2/subscriptions/${this.account.name}/${device}.json?since=${since}`);
  }

  upload(...actions: unknown[]): Promise<Uploaded> {
    return this.ok('POST', `/api/2/episodes/${this.account.name}.json`, actions);
  }

  actions(query = 'since=0'): Promise<Actions> {
    return this.ok('GET', `/api/2/episodes/${this.account.name}.json?${query}`);
  }
}
