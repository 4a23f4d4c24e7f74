import 'reflect-metadata';
import { Module, type INestMicroservice } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { pino, type Logger } from 'pino';
import { connectRedis, redisConfig } from '#redis';
import { StreamServer, type StreamServerOptions } from '../src/index.js';
import { journalToken, ProbeController, type Journal } from './probe.controller.js';

export interface ProbeOptions {
  readonly name?: string;
  readonly journal?: Journal;
  readonly maxInFlight?: number;
  readonly maxReplyBytes?: number;
  readonly timings?: StreamServerOptions['timings'];
}

export interface ProbeReplica {
  readonly app: INestMicroservice;
  readonly server: StreamServer;
  /** Texts of the requests that the replica ran, in order. */
  readonly runs: string[];
  /** Start and end of each run, by `performance.now()`. */
  readonly spans: { text: string; from: number; to: number }[];
  /** Log lines of the transport. */
  readonly logged: Record<string, unknown>[];
}

/** Starts a replica of the service `episode` in this process. */
export async function startReplica(
  environment: RedisEnvironment,
  options: ProbeOptions = {},
): Promise<ProbeReplica> {
  const { name = 'a', maxInFlight, maxReplyBytes, timings } = options;
  const runs: string[] = [];
  const spans: ProbeReplica['spans'] = [];
  const memoryJournal: Journal = {
    replica: name,
    ran: (text) => {
      runs.push(text);
      spans.push({ text, from: performance.now(), to: Number.POSITIVE_INFINITY });
    },
    ended: (text) =>
      spans.filter((span) => span.text === text).forEach((span) => (span.to = performance.now())),
  };
  const { log, logged } = memoryLog();
  const server = new StreamServer({
    service: 'episode',
    connect: () => connectTo(environment),
    log,
    maxInFlight,
    maxReplyBytes,
    timings,
  });
  @Module({
    controllers: [ProbeController],
    providers: [{ provide: journalToken, useValue: options.journal ?? memoryJournal }],
  })
  class ProbeModule {}
  const app = await NestFactory.createMicroservice(ProbeModule, {
    strategy: server,
    logger: false,
  });
  await app.listen();
  return { app, server, runs, spans, logged };
}

/** Environment variables of {@link redisConfig}. */
export type RedisEnvironment = Readonly<Record<string, string>>;

export function connectTo(environment: RedisEnvironment) {
  return connectRedis(redisConfig.parse(environment));
}

/** Returns a log that keeps its lines in memory, and these lines. */
export function memoryLog(): { log: Logger; logged: Record<string, unknown>[] } {
  const logged: Record<string, unknown>[] = [];
  const log = pino(
    { level: 'debug' },
    { write: (line: string) => void logged.push(JSON.parse(line)) },
  );
  return { log, logged };
}
