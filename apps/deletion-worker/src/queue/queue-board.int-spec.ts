import { randomUUID } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { deletionQueue } from '#contracts';
import { loadConfig } from '#runtime';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openWorker, type WorkerContext } from '../../testing/worker.fixture.js';
import { queueBoard, queueBoardConfig } from './queue-board.js';

const password = 'correct horse battery';
const basic = (text: string) => `Basic ${Buffer.from(text).toString('base64')}`;
const jobs = `/queues/api/queues/${deletionQueue.name}`;

let context: WorkerContext;
const servers: Server[] = [];
let jobId: string;

beforeAll(async () => {
  context = await openWorker();
  const job = await context.queue.add(
    deletionQueue.name,
    { userId: randomUUID(), deletionId: 1 },
    { jobId: 'seen' },
  );
  jobId = String(job.id);
});
afterAll(async () => {
  for (const server of servers) server.close();
  await context.close();
});

/** Starts a server with the routes, like the ops port. @returns a function to request it. */
async function open(environment: Record<string, string>) {
  const routes = await queueBoard(context.queue, loadConfig(queueBoardConfig, environment));
  const server = createServer((request, response) => {
    if (!routes?.(request, response)) response.writeHead(404).end('no such path');
  });
  servers.push(server);
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return (path: string, { method = 'GET', authorization = basic(`ann:${password}`) } = {}) =>
    fetch(`http://127.0.0.1:${port}${path}`, { method, headers: { authorization } });
}

describe("the queue's board", () => {
  it('is off without a password', async () => {
    const ask = await open({});
    expect((await ask('/queues')).status).toBe(404);
  });

  it('rejects short passwords', () => {
    expect(() => loadConfig(queueBoardConfig, { QUEUE_BOARD_PASSWORD: 'short' })).toThrow(
      'at least 16 characters',
    );
  });

  it.each([
    ['none', ''],
    ['a wrong password', basic('ann:wrong horse battery')],
    ['the password as a name', basic(`${password}:`)],
    ['a longer one', basic(`ann:${password}s`)],
    ['a wrong token', 'Bearer wrong'],
    ['another scheme', `Digest ${password}`],
    ['invalid Base64', 'Basic ***'],
  ])('answers 401 for the credential: %s', async (_, authorization) => {
    const ask = await open({ QUEUE_BOARD_PASSWORD: password });
    for (const path of [
      '/queues',
      '/queues/',
      '/queues/api/queues',
      '/queues/static/favicon.ico',
      '/queues/none',
    ]) {
      const response = await ask(path, { authorization });
      expect([response.status, await response.text()]).toEqual([
        401,
        'not authorized: send QUEUE_BOARD_PASSWORD with any user name\n',
      ]);
      expect(response.headers.get('www-authenticate')).toMatch(/^Basic /);
    }
  });

  it('shows page, styles and jobs with the password', async () => {
    const ask = await open({ QUEUE_BOARD_PASSWORD: password });
    const page = await ask('/queues');
    expect([page.status, page.headers.get('content-type')]).toEqual([
      200,
      'text/html; charset=utf-8',
    ]);
    const script = /src="([^"]+\.js)"/.exec(await page.text())?.[1] ?? '';
    expect((await ask(script.startsWith('/') ? script : `/queues/${script}`)).status).toBe(200);
    const list = await ask(`/queues/api/queues?activeQueue=${deletionQueue.name}&status=waiting`);
    expect(await list.text()).toContain(`"id":"${jobId}"`);
  });

  it('accepts the password as a bearer token', async () => {
    const token = randomUUID();
    const ask = await open({ QUEUE_BOARD_PASSWORD: token });
    expect((await ask('/queues/api/queues', { authorization: `Bearer ${token}` })).status).toBe(
      200,
    );
  });

  it('is read-only by default', async () => {
    const ask = await open({ QUEUE_BOARD_PASSWORD: password });
    const changes = [
      `${jobs}/pause`,
      `${jobs}/${jobId}/clean`,
      `${jobs}/${jobId}/retry`,
      `${jobs}/empty`,
    ];
    for (const path of changes) expect((await ask(path, { method: 'PUT' })).status).toBe(405);
    await ask('/queues/api/queues/pause', { method: 'PUT' });
    expect([await context.queue.isPaused(), await context.queue.getJobState(jobId)]).toEqual([
      false,
      'waiting',
    ]);
  });

  it('allows changes if it is writable', async () => {
    const ask = await open({ QUEUE_BOARD_PASSWORD: password, QUEUE_BOARD_WRITABLE: 'true' });
    expect((await ask(`${jobs}/pause`, { method: 'PUT' })).status).toBe(200);
    expect(await context.queue.isPaused()).toBe(true);
    expect((await ask(`${jobs}/resume`, { method: 'PUT' })).status).toBe(200);
    expect(await context.queue.isPaused()).toBe(false);
  });

  it('handles no other paths', async () => {
    const ask = await open({ QUEUE_BOARD_PASSWORD: password });
    for (const path of ['/', '/metrics', '/queuesx'])
      expect(await (await ask(path)).text()).toBe('no such path');
  });
});
