import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { describe, expect, it } from 'vitest';
import { freePort, startOnFreePort } from './free-port.js';

it('returns an unused port outside of the ranges for outgoing connections', async () => {
  const servers = [];
  const ports = new Set<number>();
  for (let n = 0; n < 200; n += 1) {
    const port = await freePort();
    ports.add(port);
    servers.push(createServer().listen(port, '127.0.0.1'));
    await once(servers[n]!, 'listening');
    expect((servers[n]!.address() as AddressInfo).port).toBe(port);
    expect(port + 10_000).toBeLessThan(32_768);
  }
  expect(ports.size).toBe(200);
  for (const server of servers) server.close();
});

describe('startOnFreePort', () => {
  const listenOn = async (port: number) => {
    const server = createServer().listen(port, '127.0.0.1');
    await once(server, 'listening');
    return server;
  };

  it('chooses another port if the first is taken before its use', async () => {
    const other = await listenOn(await freePort());
    const taken = (other.address() as AddressInfo).port;
    const chosen = [taken, taken, await freePort()];
    const server = await startOnFreePort(listenOn, () => Promise.resolve(chosen.shift()!));
    expect((server.address() as AddressInfo).port).not.toBe(taken);
    expect(chosen).toEqual([]);
    for (const each of [other, server]) each.close();
  });

  it('fails with any other error, and without a free port', async () => {
    let starts = 0;
    const failing = (message: string) =>
      startOnFreePort(
        () => ((starts += 1), Promise.reject(new Error(message))),
        () => Promise.resolve(1),
      );
    await expect(failing('out of memory')).rejects.toThrow('out of memory');
    expect(starts).toBe(1);
    await expect(failing('bind: Address already in use')).rejects.toThrow('in use');
    expect(starts).toBe(11);
  });
});
