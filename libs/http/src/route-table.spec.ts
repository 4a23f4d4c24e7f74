import { fastify } from 'fastify';
import { describe, expect, it } from 'vitest';
import { RouteTable } from './route-table.js';

const server = fastify({ exposeHeadRoutes: false });
const routes = new RouteTable(server);
server.get('/toplist/:number.:format', () => '');
server.post('/api/2/devices/:user/:device.json', () => '');

describe('the methods of a path', () => {
  it.each([
    ['/toplist/9.json', ['GET']],
    ['/api/2/devices/ann/Ger%C3%A4t.json', ['POST']],
    ['/api/2/devices/ann/phone', []],
    ['/toplist/%ff.json', ['GET']],
  ])('are those of its routes: %s', (path, methods) =>
    expect(routes.methodsOf(path)).toEqual(methods),
  );

  it('are none for a path above the maximum length', () => {
    const path = (length: number) => `/toplist/9.${'x'.repeat(length - '/toplist/9.'.length)}`;
    expect([routes.methodsOf(path(512)), routes.methodsOf(path(513))]).toEqual([['GET'], []]);
  });
});
