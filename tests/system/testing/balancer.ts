import {
  Agent,
  createServer,
  type IncomingMessage,
  request,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import type { AppProcess } from '#testing';

/** Interval of readiness polls of the gateways, in milliseconds: many during a drain. */
const pollMs = 50;

interface Backend {
  readonly gateway: AppProcess;
  isReady: boolean;
}

/**
 * A minimal load balancer with keep-alive connections to the gateways. It sends each request to a
 * gateway that was ready at the last poll, and repeats none.
 */
export class Balancer {
  private readonly agent = new Agent({ keepAlive: true });
  private readonly backends = new Map<number, Backend>();
  private readonly server: Server = createServer((incoming, outgoing) =>
    this.forward(incoming, outgoing),
  );
  private timer: NodeJS.Timeout | undefined;
  private next = 0;

  /** Starts to listen. @returns its base URL. */
  async open(): Promise<string> {
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve));
    this.timer = setInterval(() => void this.poll(), pollMs);
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  async add(...gateways: AppProcess[]): Promise<void> {
    for (const gateway of gateways) this.backends.set(gateway.pid, { gateway, isReady: false });
    await this.poll();
  }

  remove(gateway: AppProcess): void {
    this.backends.delete(gateway.pid);
  }

  close(): void {
    clearInterval(this.timer);
    this.agent.destroy();
    this.server.close();
    this.server.closeAllConnections();
  }

  private async poll(): Promise<void> {
    await Promise.all(
      [...this.backends.values()].map(async (backend) => {
        const readyz = `http://127.0.0.1:${String(backend.gateway.facts['opsPort'])}/readyz`;
        backend.isReady = await fetch(readyz).then(
          async (answer) => (await answer.text(), answer.ok),
          () => false,
        );
      }),
    );
  }

  private forward(incoming: IncomingMessage, outgoing: ServerResponse): void {
    const ready = [...this.backends.values()].filter(({ isReady }) => isReady);
    const chosen = ready[this.next++ % ready.length];
    if (!chosen) return void outgoing.writeHead(502).end('no gateway is ready');
    const { method, url: path, headers } = incoming;
    const port = chosen.gateway.facts['port'] as number;
    const upstream = request(
      { agent: this.agent, host: '127.0.0.1', port, method, path, headers },
      (answer) => {
        const { connection: _, ...kept } = answer.headers;
        outgoing.writeHead(answer.statusCode ?? 502, kept);
        answer.pipe(outgoing);
      },
    );
    upstream.on('error', (error) => {
      if (outgoing.headersSent) outgoing.destroy();
      else outgoing.writeHead(502).end(error.message);
    });
    incoming.pipe(upstream);
  }
}
