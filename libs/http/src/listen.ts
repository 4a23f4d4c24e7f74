import type { AddressInfo } from 'node:net';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { EdgeConfig } from './edge.config.js';

/**
 * Connections that the kernel keeps until they are accepted. With Node's 511, somebody who opens a thousand at once
 * makes others wait the second after which TCP tries again.
 */
const backlog = 4_096;

/** Lets an edge process listen. @returns the port. */
export async function listen(
  app: NestFastifyApplication,
  { HOST, PORT }: Pick<EdgeConfig, 'HOST' | 'PORT'>,
): Promise<number> {
  await app.listen({ port: PORT, host: HOST, backlog });
  return (app.getHttpServer().address() as AddressInfo).port;
}
