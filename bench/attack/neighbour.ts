import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Device } from '#testing';

/** Results of a quiet user's polls; times in milliseconds. */
export interface Polls {
  readonly count: number;
  /** Reasons of failed polls: a status other than 200, or an error code. */
  readonly failures: readonly string[];
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
}

/** A quiet user during an attack: a separate process that sends a request every 20 ms. */
export class Neighbour {
  private readonly child: ChildProcess = fork(
    fileURLToPath(new URL('neighbour.mjs', import.meta.url)),
    {
      execArgv: [],
    },
  );

  /** Polls as this user while a function runs. @returns the results. */
  async beside(device: Device, baseUrl: string, run: () => Promise<unknown>): Promise<Polls> {
    this.child.send({ baseUrl, token: device.token });
    try {
      await run();
    } finally {
      this.child.send('stop');
    }
    const [{ latencies, failures }] = (await once(this.child, 'message')) as [
      { latencies: number[]; failures: string[] },
    ];
    const sorted = latencies.sort((a, b) => a - b);
    const at = (share: number) => Math.round(sorted[Math.ceil(sorted.length * share) - 1] ?? 0);
    return { count: sorted.length, failures, p50: at(0.5), p99: at(0.99), max: at(1) };
  }

  close(): void {
    this.child.kill();
  }
}
