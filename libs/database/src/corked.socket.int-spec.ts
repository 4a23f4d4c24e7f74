import { once } from 'node:events';
import type { Socket } from 'node:net';
import { Worker } from 'node:worker_threads';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { eventually } from '#testing';
import { corkedSocket } from './corked.socket.js';

/** A server on a thread of its own, which receives what is sent before the tick it was sent in has ended. */
const listen = `
  const { parentPort, workerData: arrived } = require('node:worker_threads');
  const server = require('node:net').createServer((socket) => socket.on('data', (chunk) => {
    Atomics.add(arrived, 0, 1);
    Atomics.notify(arrived, 0);
    parentPort.postMessage(String(chunk));
  }));
  server.listen(0, '127.0.0.1', () => parentPort.postMessage(server.address().port));`;

let server: Worker;
let socket: Socket;
let arrived: Int32Array;
let received: string[];

beforeEach(async () => {
  arrived = new Int32Array(new SharedArrayBuffer(4));
  server = new Worker(listen, { eval: true, workerData: arrived });
  const [port] = (await once(server, 'message')) as [number];
  const chunks: string[] = [];
  server.on('message', (chunk: string) => chunks.push(chunk));
  received = chunks;
  socket = corkedSocket();
  socket.connect(port, '127.0.0.1');
  await once(socket, 'connect');
});

afterEach(async () => {
  socket.destroy();
  await server.terminate();
});

it('sends together, in order and at the end of the tick what is written in one tick', async () => {
  socket.write('BEGIN;');
  await Promise.resolve();
  socket.write(Buffer.from('SELECT;'));
  expect(Atomics.wait(arrived, 0, 0, 100)).toBe('timed-out');
  await eventually(() => expect(received).toEqual(['BEGIN;SELECT;']));
});

it('sends in the next tick what is written then, and does not wait for more', async () => {
  socket.write('one');
  await eventually(() => expect(received).toEqual(['one']));
  socket.write('two');
  socket.write('three');
  await eventually(() => expect(received).toEqual(['one', 'twothree']));
});

it('tells when it has written, and loses nothing at its end', async () => {
  const written: string[] = [];
  socket.write('a', () => written.push('a'));
  socket.write('b', 'utf8', () => written.push('b'));
  socket.end();
  await once(socket, 'finish');
  expect(written).toEqual(['a', 'b']);
  await eventually(() => expect(received).toEqual(['ab']));
});
