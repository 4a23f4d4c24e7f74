import { fastify } from 'fastify';
import { describe, expect, it } from 'vitest';
import { serveConsole } from './console-files.js';

describe('the console without a build', () => {
  it.each(['/console/', '/console/import', '/console/assets/index.js'])(
    'explains at %s that it is missing',
    async (url) => {
      const server = fastify();
      await serveConsole(server, '/nowhere');
      const { statusCode, headers, body } = await server.inject({ url });
      expect([statusCode, headers['cache-control']]).toEqual([503, 'no-store']);
      expect(body).toContain('npm run build');
    },
  );
});
