import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

/** A bare server of Node in a process of its own, which answers every request with an empty 200. */
export class BareServer {
  private constructor(
    readonly port: number,
    readonly close: () => void,
  ) {}

  static async open(): Promise<BareServer> {
    const program = fileURLToPath(new URL('bare-server.mjs', import.meta.url));
    const child = fork(program, { execArgv: [] });
    const [port] = (await once(child, 'message')) as [number];
    return new BareServer(port, () => child.kill());
  }
}
