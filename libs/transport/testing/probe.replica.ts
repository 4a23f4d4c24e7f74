import 'reflect-metadata';
import { Module, type INestMicroservice } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { pino, type Logger } from 'pino';
import { connectRedis, redisConfig } from '#runtime';
import { StreamServer, type StreamServerOptions } from '../src/index.js';
import { journalToken, ProbeController, type Journal } from './probe.controller.js';

export interface ProbeReplica {
  readonly app: INestMicroservice;
  readonly server: StreamServer;
  readonly journal: Journal;
  /** What the transport logged. */
  readonly logged: Record<string, unknown>[];
}

/** Starts a replica of the service `episode` in this process. */
export async function startReplica(
  url: string,
  options: Partial<StreamServerOptions> & { name?: string } = {},
): Promise<ProbeReplica> {
  const journal: Journal = { replica: options.name ?? 'a', runs: [], events: [] };
  const { log, logged } = memoryLog();
  const server = new StreamServer({ service: 'episode', connect: () => connectTo(url), log, ...options });
  @Module({ controllers: [ProbeController], providers: [{ provide: journalToken, useValue: journal }] })
  class ProbeModule {}
  const app = await NestFactory.createMicroservice(ProbeModule, { strategy: server, logger: false });
  await app.listen();
  return { app, server, journal, logged };
}

export function connectTo(url: string) {
  return connectRedis(redisConfig.parse({ REDIS_URL: url }));
}

/** A log that keeps its lines. */
export function memoryLog(): { log: Logger; logged: Record<string, unknown>[] } {
  const logged: Record<string, unknown>[] = [];
  const log = pino({ level: 'debug' }, { write: (line: string) => void logged.push(JSON.parse(line)) });
  return { log, logged };
}
