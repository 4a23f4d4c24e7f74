import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Account } from './clients-context.js';
import { PythonClient } from './python-client.js';

/** The podcasts of gPodder and their episodes, by URL. */
type State = Record<
  string,
  Record<string, { position: number; total: number; isNew: boolean; isDeleted: boolean }>
>;

/** gPodder without its user interface, with data of its own. */
export class GPodder {
  private constructor(
    private readonly home: string,
    private readonly client: PythonClient,
  ) {}

  /** Starts gPodder with new data, and enables its synchronisation. */
  static async start(
    device: string,
    server: string,
    { name, password }: Account,
  ): Promise<GPodder> {
    const home = mkdtempSync(join(tmpdir(), 'gpodder-'));
    const settings = { user: name, password, server, device };
    const client = PythonClient.start('gpodder.driver.py', settings, {
      HOME: home,
      GPODDER_HOME: home,
    });
    await client.call('enable');
    return new GPodder(home, client);
  }

  call<Result = unknown>(name: string, ...args: readonly unknown[]): Promise<Result> {
    return this.client.call<Result>(name, ...args);
  }

  /** Runs its worker once. @throws Error if synchronisation is disabled or changes remain. */
  async sync(): Promise<void> {
    await this.call('sync');
    if (!(await this.call('is_enabled'))) throw new Error('gPodder disabled its synchronisation');
    if ((await this.call('pending')) !== 0) throw new Error('gPodder did not upload its changes');
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
