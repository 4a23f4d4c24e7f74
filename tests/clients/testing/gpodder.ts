import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Account } from './clients.context.js';
import { PythonClient } from './python.client.js';

/** Its podcasts with their episodes, by URL. */
type State = Record<
  string,
  Record<string, { position: number; total: number; isNew: boolean; isDeleted: boolean }>
>;

/** gPodder without its windows, on one computer. */
export class GPodder {
  private constructor(
    private readonly home: string,
    private readonly client: PythonClient,
  ) {}

  /** Installs it and turns its synchronisation on. */
  static async on(device: string, server: string, { name, password }: Account): Promise<GPodder> {
    const home = mkdtempSync(join(tmpdir(), 'gpodder-'));
    const wanted = { user: name, password, server, device };
    const client = PythonClient.start('gpodder.driver.py', wanted, {
      HOME: home,
      GPODDER_HOME: home,
    });
    await client.call('enable');
    return new GPodder(home, client);
  }

  call<Result = unknown>(name: string, ...args: readonly unknown[]): Promise<Result> {
    return this.client.call<Result>(name, ...args);
  }

  /** Runs its worker once. It ignores failures and keeps changes that it could not upload. */
  async sync(): Promise<void> {
    await this.call('sync');
    if (!(await this.call('is_enabled')))
      throw new Error('gPodder has switched synchronisation off');
    if ((await this.call('pending')) !== 0) throw new Error('gPodder could not upload');
  }

  /** Runs its worker, accepts every change of subscriptions, and applies episode actions. */
  async syncAndConfirm(): Promise<unknown> {
    await this.sync();
    const confirmed = await this.call('confirm');
    await this.call('merge');
    await this.sync();
    return confirmed;
  }

  state(): Promise<State> {
    return this.call('state');
  }

  async close(): Promise<void> {
    await this.client.close();
    rmSync(this.home, { recursive: true, force: true });
  }
}
