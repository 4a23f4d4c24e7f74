import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type AppProcess, AppStack, eventually } from '#testing';

/** One span as OTLP over HTTP sends it. */
interface SentSpan {
  app: string;
  name: string;
  traceId: string;
  spanId: string;
  parentSpanId?: string;
}

interface Export {
  resourceSpans: {
    resource: { attributes: { key: string; value: { stringValue?: string } }[] };
    scopeSpans: { spans: Omit<SentSpan, 'app'>[] }[];
  }[];
}

const spans: SentSpan[] = [];
let collector: Server;
let stack: AppStack;
let apps: AppProcess[];
let gateway: AppProcess;

beforeAll(async () => {
  collector = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      for (const { resource, scopeSpans } of (
        JSON.parse(Buffer.concat(chunks).toString()) as Export
      ).resourceSpans) {
        const app =
          resource.attributes.find(({ key }) => key === 'service.name')?.value.stringValue ?? '';
        spans.push(...scopeSpans.flatMap((scope) => scope.spans.map((span) => ({ ...span, app }))));
      }
      response.setHeader('content-type', 'application/json').end('{}');
    });
  });
  await new Promise<void>((resolve) => collector.listen(0, '127.0.0.1', resolve));
  stack = await AppStack.open();
  const { port } = collector.address() as AddressInfo;
  apps = await stack.start(['gateway', 'subscription', 'deletion-worker'], {
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`,
  });
  gateway = apps[0]!;
});
afterAll(async () => {
  await stack.close();
  collector.close();
});

/** The apps and names of a span and everything above it, from the top. */
function pathTo(span: SentSpan): string[] {
  const parent = spans.find(
    ({ spanId, traceId }) => spanId === span.parentSpanId && traceId === span.traceId,
  );
  return [
    ...(parent ? pathTo(parent) : []),
    `${span.app.replace('podcast-sync-', '')}: ${span.name}`,
  ];
}

const paths = (traceId: string) =>
  spans.filter((span) => span.traceId === traceId).map((span) => pathTo(span).join(' > '));

describe('the log', () => {
  it('links a deletion to its request', async () => {
    const device = await stack.device(gateway);
    const body = { subscriptions: [{ feed_url: 'https://a.example/feed' }] };
    const made = await device.send<{ success: { guid: string }[] }>('POST', '/subscriptions', {
      body,
    });
    const owner = new pg.Client({ connectionString: stack.postgres.url });
    await owner.connect();
    await owner.query(`
      CREATE FUNCTION public.fault() RETURNS trigger
        LANGUAGE plpgsql AS $$ BEGIN RAISE 'a fault of the test'; END $$;
      CREATE TRIGGER fault BEFORE UPDATE OF deleted ON subscription.subscriptions
        FOR EACH ROW EXECUTE FUNCTION public.fault()`);
    const path = `/subscriptions/${made.body.success[0]?.guid}`;
    await device.send('DELETE', path, { headers: { 'x-request-id': 'mine-2' } });
    await eventually(async () =>
      expect(apps[2]?.output).toMatch(
        /"correlationId":"mine-2".*"msg":"deletion ended in FAILURE.*: unexpected error/,
      ),
    );
    await owner.query('DROP FUNCTION public.fault() CASCADE');
    await owner.end();
  });

  it('has one line for a request, under the id that the client gave it and gets back', async () => {
    const device = await stack.device(gateway);
    const answer = await device.send('GET', '/subscriptions?page=2', {
      headers: { 'x-request-id': 'mine-1' },
    });
    expect(answer.headers.get('x-request-id')).toBe('mine-1');
    await eventually(async () => expect(gateway.output).toContain('"correlationId":"mine-1"'));
    const lines = gateway.output.split('\n').filter((line) => line.includes('mine-1'));
    expect(lines).toHaveLength(1);
    expect(JSON.parse(lines[0]!)).toMatchObject({
      method: 'GET',
      route: '/subscriptions',
      status: 200,
      level: 'info',
    });
  });

  it('does not take an id that is not sane', async () => {
    const device = await stack.device(gateway);
    const answer = await device.send('GET', '/subscriptions', {
      headers: { 'x-request-id': 'a b' },
    });
    expect(answer.headers.get('x-request-id')).toMatch(/^[\da-f-]{36}$/);
  });
});

describe('one trace', () => {
  it('covers the HTTP request, Redis, Postgres and the deletion job', async () => {
    const device = await stack.device(gateway);
    const body = { subscriptions: [{ feed_url: 'https://a.example/feed' }] };
    const trace = (digit: string) => ({
      traceparent: `00-${digit.repeat(32)}-${digit.repeat(16)}-01`,
    });
    const made = await device.send<{ success: { guid: string }[] }>('POST', '/subscriptions', {
      body,
      headers: trace('a'),
    });
    const path = `/subscriptions/${made.body.success[0]?.guid}`;
    const { deletion_id: id } = (await device.send('DELETE', path, { headers: trace('b') })).body;
    await eventually(async () =>
      expect((await device.send('GET', `/deletions/${String(id)}`)).body).toMatchObject({
        status: 'SUCCESS',
      }),
    );
    // A process that stops sends its spans first.
    for (const app of apps) await app.stop();
    expect(paths('a'.repeat(32))).toContain(
      'gateway: POST /subscriptions > gateway: subscription.subscribe > ' +
        'subscription: subscription.subscribe > subscription: postgres sync.begin_write',
    );
    const handler =
      'gateway: DELETE /subscriptions/:guid > gateway: deletion.request > ' +
      'deletion-worker: deletion.request';
    const job = `${handler} > deletion-worker: deletion.job`;
    expect(paths('b'.repeat(32))).toEqual(
      expect.arrayContaining([
        `${handler} > deletion-worker: postgres deletion.insert_record`,
        job,
        `${job} > deletion-worker: postgres deletion.claim_record`,
      ]),
    );
  });
});
