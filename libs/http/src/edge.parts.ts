import type { DynamicModule } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { FastifyAdapter, NestFastifyApplication } from '@nestjs/platform-fastify';
import { type Log, nestLogger, type Running } from '#runtime';

/** An edge process before Nest has created its application. */
export interface EdgeParts {
  readonly module: DynamicModule;
  readonly adapter: FastifyAdapter;
  /** Completes the created application and lets it listen. */
  run(app: NestFastifyApplication): Promise<Running>;
}

/** Creates the application of an edge process and runs it. */
export async function serveEdge({ module, adapter, run }: EdgeParts, log: Log): Promise<Running> {
  const options = { logger: nestLogger(log), bodyParser: false };
  return run(await NestFactory.create<NestFastifyApplication>(module, adapter, options));
}
