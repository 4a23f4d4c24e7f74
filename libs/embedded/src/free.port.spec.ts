import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { expect, it } from 'vitest';
import { freePort } from './free.port.js';

it('is a port that nobody listens on, and that no system gives to an outgoing connection', async () => {
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
