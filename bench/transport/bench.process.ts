import 'reflect-metadata';
import { Controller, Logger, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import {
  ClientRedis,
  ClientTCP,
  MessagePattern,
  Payload,
  Transport,
  type MicroserviceOptions,
} from '@nestjs/microservices';
import { pino } from 'pino';
import { firstValueFrom } from 'rxjs';
import type { RequestOf } from '#contracts';
import { connectRedis, redisConfig } from '#runtime';
import { call, Handle, StreamClient, StreamServer } from '#transport';
import { echo, type BenchProcessOptions, type Burst, type BurstResult, type Place } from './bench.contracts.js';

/** A child process of the bench: one replica, or the gateway that calls. It answers its parent's messages. */

const log = pino({ level: 'silent' });
let runs = 0;

@Controller()
class EchoController {
  @Handle(echo)
  validated(@Payload() { text }: RequestOf<typeof echo>) {
    runs += 1;
    return { text };
  }

  @MessagePattern('echo')
  plain(@Payload() { text }: { text: string }) {
    runs += 1;
    return { text };
  }
}

@Module({ controllers: [EchoController] })
class EchoModule {}

/** Where Nest's own transport of a kind listens, or has its Redis. */
function peer({ kind, redisUrl, port }: Place) {
  if (kind === 'tcp') return { host: '127.0.0.1', port };
  const url = new URL(redisUrl);
  return { host: url.hostname, port: Number(url.port), password: url.password };
}

async function startReplica(place: Place): Promise<void> {
  const config = redisConfig.parse({ REDIS_URL: place.redisUrl || undefined });
  const options: MicroserviceOptions =
    place.kind === 'streams'
      ? { strategy: new StreamServer({ service: echo.service, connect: () => connectRedis(config), log }) }
      : { transport: place.kind === 'tcp' ? Transport.TCP : Transport.REDIS, options: peer(place) };
  const app = await NestFactory.createMicroservice<MicroserviceOptions>(EchoModule, { ...options, logger: false });
  await app.listen();
}

/** Connects a client. @returns a function that makes one call. */
async function openClient(place: Place): Promise<(text: string) => Promise<{ text: string }>> {
  if (place.kind !== 'streams') {
    const client = place.kind === 'tcp' ? new ClientTCP(peer(place)) : new ClientRedis(peer(place));
    await client.connect();
    return (text) => firstValueFrom(client.send<{ text: string }>('echo', { text }));
  }
  const config = redisConfig.parse({ REDIS_URL: place.redisUrl });
  const client = new StreamClient({ services: [echo.service], connect: () => connectRedis(config), log });
  await client.connect();
  return (text) => call(client, echo, { text }, { requestId: text });
}

async function burst(ask: (text: string) => Promise<{ text: string }>, { callers, ms }: Burst): Promise<BurstResult> {
  const took: number[] = [];
  const started = performance.now();
  const caller = async (name: string) => {
    for (let asked = performance.now(); asked < started + ms; asked = performance.now()) {
      const { text } = await ask(name);
      if (text !== name) throw new Error(`${name} got the reply of ${text}`);
      took.push(performance.now() - asked);
    }
  };
  await Promise.all(Array.from({ length: callers }, (_, n) => caller(`caller ${n}`)));
  const seconds = (performance.now() - started) / 1_000;
  took.sort((one, other) => one - other);
  const below = (share: number) => took[Math.floor((took.length - 1) * share)] ?? Number.NaN;
  return { calls: took.length, seconds, p50: below(0.5), p99: below(0.99) };
}

function usage() {
  const { user, system } = process.cpuUsage();
  return { cpu: user + system, runs };
}

Logger.overrideLogger(false);
// Nothing of the bench outlives it.
process.on('disconnect', () => process.exit(0));
const { role, ...place } = JSON.parse(process.argv[2]!) as BenchProcessOptions;
const ask = role === 'gateway' ? await openClient(place) : await startReplica(place);
process.on('message', (message: Burst | 'usage') => {
  if (message === 'usage') process.send!(usage());
  else if (ask) void burst(ask, message).then((result) => process.send!(result));
});
process.send!('ready');
