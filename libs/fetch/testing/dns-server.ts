import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { isIPv4 } from 'node:net';
import ipaddr from 'ipaddr.js';

const types = { A: 1, AAAA: 28 } as const;
const headBytes = 12;

/** A DNS server on loopback (RFC 1035). It answers for the names that a test defines. */
export class DnsServer {
  /** The number of questions so far, by name. */
  readonly questions = new Map<string, number>();
  private readonly names = new Map<string, (question: number) => readonly string[]>();

  private constructor(
    private readonly socket: Socket,
    /** As `127.0.0.1:PORT`. */
    readonly address: string,
  ) {}

  static async open(): Promise<DnsServer> {
    const socket = createSocket('udp4');
    socket.bind(0, '127.0.0.1');
    await once(socket, 'listening');
    const server = new DnsServer(socket, `127.0.0.1:${socket.address().port}`);
    socket.on('message', (query, { port, address }) =>
      socket.send(server.answer(query), port, address),
    );
    return server;
  }

  /**
   * Sets the addresses of a name.
   *
   * @param addresses can depend on the number of the question, from 0. Each lookup sends two
   *   questions, for A and for AAAA.
   */
  on(name: string, addresses: readonly string[] | ((question: number) => readonly string[])): void {
    this.names.set(name, typeof addresses === 'function' ? addresses : () => addresses);
  }

  async close(): Promise<void> {
    this.socket.close();
    await once(this.socket, 'close');
  }

  private answer(query: Buffer): Buffer {
    const labels: string[] = [];
    let offset = headBytes;
    for (let length = query[offset] ?? 0; length > 0; length = query[offset] ?? 0) {
      labels.push(query.toString('latin1', offset + 1, offset + 1 + length));
      offset += 1 + length;
    }
    const name = labels.join('.').toLowerCase();
    const type = query.readUInt16BE(offset + 1);
    const question = query.subarray(headBytes, offset + 5);
    const asked = this.questions.get(name) ?? 0;
    this.questions.set(name, asked + 1);
    const addresses = this.names.get(name);
    const records = (addresses?.(asked) ?? [])
      .filter((address) => type === (isIPv4(address) ? types.A : types.AAAA))
      .map((address) => record(type, ipaddr.parse(address).toByteArray()));
    const head = Buffer.alloc(headBytes);
    query.copy(head, 0, 0, 2);
    // A response, with recursion; 3: no such name.
    head.writeUInt16BE(addresses ? 0x8180 : 0x8183, 2);
    head.writeUInt16BE(1, 4);
    head.writeUInt16BE(records.length, 6);
    return Buffer.concat([head, question, ...records]);
  }
}

/** Returns a resource record for the name of the question, without a time to live. */
function record(type: number, data: number[]): Buffer {
  const head = Buffer.alloc(headBytes);
  // A pointer to the question's name.
  head.writeUInt16BE(0xc000 | headBytes, 0);
  head.writeUInt16BE(type, 2);
  head.writeUInt16BE(1, 4);
  head.writeUInt16BE(data.length, 10);
  return Buffer.concat([head, Buffer.from(data)]);
}
