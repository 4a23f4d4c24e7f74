import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import type { Device } from '#testing';

/** Target of a user's requests: a cell, and whether it accepts writes. */
interface Route {
  cell: Device;
  isFrozen: boolean;
}

/** Routes each user to one of two cells, by the token; users have one token per cell. */
export class Ingress {
  private readonly routes = new Map<string, Route>();
  private readonly server: Server = createServer((incoming, outgoing) => {
    this.forward(incoming, outgoing).catch(() => outgoing.destroy());
  });
  /** Writes that a cell has not answered yet. */
  writing = 0;

  async open(): Promise<string> {
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  close(): void {
    this.server.close();
    this.server.closeAllConnections();
  }

  /** Routes the requests with a token to a cell. @param cell the user's device there. */
  send(token: string, cell: Device): void {
    this.routes.set(`Bearer ${token}`, { cell, isFrozen: false });
  }

  /** Answers all further writes with 503. */
  freeze(): void {
    for (const route of this.routes.values()) route.isFrozen = true;
  }

  private async forward(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const { method = '', url = '', headers } = incoming;
    const body = await buffer(incoming);
    const route = this.routes.get(headers.authorization ?? '') as Route;
    const writes = method !== 'GET';
    if (writes && route.isFrozen)
      return void outgoing.writeHead(503, { 'retry-after': '1' }).end('{}');
    if (writes) this.writing += 1;
    try {
      const answer = await route.cell.send(method, url, {
        ...(body.length > 0 && { body: JSON.parse(body.toString()) as unknown }),
        ...(headers['idempotency-key'] && { key: String(headers['idempotency-key']) }),
      });
      const syncTimestamp = answer.headers.get('sync-timestamp');
      outgoing.writeHead(answer.status, {
        ...(syncTimestamp && { 'sync-timestamp': syncTimestamp }),
      });
      outgoing.end(JSON.stringify(answer.body));
    } finally {
      if (writes) this.writing -= 1;
    }
  }
}
