import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

/** A TCP proxy whose connections a test can hold (data arrives later), cut and refuse. */
export class TcpProxy {
  private readonly sockets = new Set<Socket>();
  private isRefusing = false;

  private constructor(
    private readonly server: Server,
    /** URL that reaches the server through this proxy. */
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
    server.on('connection', (clientSocket) => {
      if (proxy.isRefusing) clientSocket.on('error', () => {}).destroy();
      else proxy.forward(clientSocket, connect(Number(port), hostname));
    });
    return proxy;
  }

  /** Local ports of the proxy's connections, both to clients and to the server. */
  get ports(): number[] {
    return [...this.sockets].flatMap(({ localPort }) => localPort ?? []);
  }

  /** Holds the data of all current connections, in both directions, until {@link release}. */
  hold(): void {
    for (const socket of this.sockets) socket.pause();
  }

  release(): void {
    for (const socket of this.sockets) socket.resume();
  }

  /** Cuts all connections and drops held data. New connections work. */
  cut(): void {
    for (const socket of this.sockets) socket.destroy();
  }

  /** Cuts all connections, and each new connection until {@link accept} is called. */
  refuse(): void {
    this.isRefusing = true;
    this.cut();
  }

  accept(): void {
    this.isRefusing = false;
  }

  close(): void {
    this.cut();
    this.server.close();
  }

  private forward(clientSocket: Socket, serverSocket: Socket): void {
    for (const [from, to] of [
      [clientSocket, serverSocket],
      [serverSocket, clientSocket],
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
