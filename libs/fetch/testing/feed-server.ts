import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';

/** A request that a {@link FeedServer} received. */
export interface ReceivedRequest {
  readonly path: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
}

/** An HTTP server on loopback whose answers a test defines, one handler per path. */
export class FeedServer {
  /** Requests in the order of arrival. */
  readonly requests: ReceivedRequest[] = [];
  /** The number of connections so far. */
  connections = 0;
  private readonly handlers = new Map<string, RequestListener>();
  private readonly sockets = new Set<Socket>();

  private constructor(
    private readonly server: Server,
    readonly port: number,
  ) {}

  /** @param host the address to listen on. */
  static async open(host = '127.0.0.1'): Promise<FeedServer> {
    const server = createServer();
    server.listen(0, host);
    await once(server, 'listening');
    const feeds = new FeedServer(server, (server.address() as AddressInfo).port);
    server.on('connection', (socket) => {
      feeds.connections += 1;
      feeds.sockets.add(socket);
      socket.on('close', () => feeds.sockets.delete(socket));
    });
    server.on('request', (request, response) => {
      const { url: path = '/', headers } = request;
      feeds.requests.push({ path, headers });
      const handler = feeds.handlers.get(new URL(path, 'http://x').pathname);
      if (handler) handler(request, response);
      else response.writeHead(404).end();
    });
    return feeds;
  }

  /** Returns the URL of a path. */
  url(path: string, host = '127.0.0.1'): string {
    return `http://${host}:${this.port}${path}`;
  }

  /** Sets the handler of a path. Returns the path's URL. */
  on(path: string, handler: RequestListener): string {
    this.handlers.set(path, handler);
    return this.url(path);
  }

  /** The number of open connections. */
  get open(): number {
    return this.sockets.size;
  }

  async close(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    this.server.close();
    await once(this.server, 'close');
  }
}
