import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

/** A wire between a process and a server that can be cut off for a while: what was sent meanwhile arrives afterwards. */
export class TcpProxy {
  private readonly sockets = new Set<Socket>();
  private isRefusing = false;

  private constructor(
    private readonly server: Server,
    /** The server's URL, through this wire. */
    readonly url: string,
  ) {}

  static async to(target: string): Promise<TcpProxy> {
    const { hostname, port } = new URL(target);
    const server = createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const url = new URL(target);
    url.port = String((server.address() as AddressInfo).port);
    const proxy = new TcpProxy(server, url.href);
    server.on('connection', (inward) => {
      if (proxy.isRefusing) inward.on('error', () => {}).destroy();
      else proxy.join(inward, connect(Number(port), hostname));
    });
    return proxy;
  }

  /** Where the server sees the connections come from. */
  get ports(): number[] {
    return [...this.sockets].flatMap(({ localPort }) => localPort ?? []);
  }

  /** From here on nothing passes, either way. */
  hold(): void {
    for (const socket of this.sockets) socket.pause();
  }

  /** Ends {@link hold}. */
  release(): void {
    for (const socket of this.sockets) socket.resume();
  }

  /** Cuts every connection, and with it what was held; new ones pass. */
  cut(): void {
    for (const socket of this.sockets) socket.destroy();
  }

  /** Cuts every connection, and new ones too until {@link accept}. */
  refuse(): void {
    this.isRefusing = true;
    this.cut();
  }

  /** Ends {@link refuse}. */
  accept(): void {
    this.isRefusing = false;
  }

  /** Cuts the wire for good. */
  close(): void {
    this.cut();
    this.server.close();
  }

  private join(inward: Socket, outward: Socket): void {
    for (const [from, to] of [
      [inward, outward],
      [outward, inward],
    ] as const) {
      this.sockets.add(from);
      from.on('data', (chunk) => to.write(chunk));
      from.on('error', () => {});
      from.on('close', () => {
        this.sockets.delete(from);
        to.destroy();
      });
    }
  }
}
