import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type AppProcess, AppStack, eventually } from '#testing';

let stack: AppStack;
beforeAll(async () => {
  stack = await AppStack.open({ environment: { OPS_PORT: '0', DRAIN_SECONDS: '2' } });
});
afterAll(() => stack.close());

const portOf = ({ facts }: AppProcess) => facts['port'] as number;

/** A raw connection with its received text. */
function rawConnection(port: number) {
  const socket = connect(port, '127.0.0.1');
  const connection = {
    received: '',
    isOver: false,
    send: (text: string) => void socket.write(text.replaceAll('\n', '\r\n')),
    answers: () => connection.received.split(/(?=HTTP\/1\.1 )/),
  };
  socket.on('data', (chunk: Buffer) => (connection.received += chunk.toString()));
  socket.on('close', () => (connection.isOver = true));
  socket.on('error', () => undefined);
  return connection;
}

/** Returns true if a port accepts connections. */
function listens(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    socket.once('connect', () => socket.destroy());
  });
}

describe('a stopping gateway', () => {
  it('becomes unready, serves, and answers started requests with Connection: close', async () => {
    const [gateway] = (await stack.start(['gateway', 'subscription'])) as [AppProcess, AppProcess];
    const port = portOf(gateway);
    const { token } = await stack.device(gateway);
    const head = `Host: x\nAuthorization: Bearer ${token}\n`;
    const connection = rawConnection(port);
    const answers = async (count: number) =>
      eventually(() =>
        expect(connection.answers().filter((text) => text.includes('\r\n\r\n'))).toHaveLength(
          count,
        ),
      );

    const began = performance.now();
    const stopped = gateway.stop();
    const readyz = `http://127.0.0.1:${String(gateway.facts['opsPort'])}/readyz`;
    await eventually(async () => expect((await fetch(readyz)).status).toBe(503));
    connection.send(`GET /subscriptions HTTP/1.1\n${head}\n`);
    await answers(1);
    expect(connection.received).toMatch(/^HTTP\/1\.1 200 /);
    expect(connection.received).not.toMatch(/connection: close/i);

    const body = '{"subscriptions": []}';
    const length = `Content-Type: application/json\nContent-Length: ${body.length}\n`;
    connection.send(`POST /subscriptions HTTP/1.1\n${head}${length}\n${body.slice(0, 5)}`);
    await eventually(async () => expect(await listens(port)).toBe(false));
    connection.send(`${body.slice(5)}`);
    await answers(2);
    expect(connection.answers()[1]).toMatch(/^HTTP\/1\.1 200 /);
    expect(connection.answers()[1]).toMatch(/connection: close/i);
    await eventually(() => expect(connection.isOver).toBe(true));
    await stopped;
    const tookMs = performance.now() - began;
    console.info(`stopped within ${Math.round(tookMs)} ms, 2,000 of them its drain`);
    // Far below the minute for which an idle connection is kept.
    expect(tookMs).toBeLessThan(40_000);
    expect(gateway.output).not.toMatch(/"level":"(error|fatal)"/);
  });
});
