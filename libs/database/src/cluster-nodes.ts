import pg from 'pg';

/** Time for which a node gets no new connections after a failed one, in milliseconds. */
const nodePauseMs = 5_000;

/** Splits a list of Postgres URLs at its commas. */
export function nodesOf(urls: string): string[] {
  return urls.split(/,\s*(?=postgres(?:ql)?:\/\/)/);
}

/**
 * Returns a class of `pg` clients. Each new client connects to the next of the nodes. A node to
 * which a connection failed is skipped for {@link nodePauseMs}, unless all nodes failed.
 */
export function clientOfNodes(nodes: readonly string[]): typeof pg.Client {
  const pausedUntil = new Map<string, number>();
  let nextIndex = Math.floor(Math.random() * nodes.length);
  const nextNode = (): string => {
    const first = nextIndex % nodes.length;
    nextIndex += 1;
    const inRotation = [...nodes.slice(first), ...nodes.slice(0, first)];
    const isReady = (node: string) => (pausedUntil.get(node) ?? 0) <= performance.now();
    return inRotation.find(isReady) ?? (inRotation[0] as string);
  };

  return class extends pg.Client {
    private readonly node: string;

    constructor(config?: pg.ClientConfig) {
      const node = nextNode();
      super({ ...config, connectionString: node });
      this.node = node;
    }

    override connect(): Promise<this>;
    override connect(callback: (error: Error) => void): void;
    override connect(callback?: (error: Error) => void): Promise<this> | void {
      const connected = super.connect().then(
        () => this,
        (error: unknown) => {
          pausedUntil.set(this.node, performance.now() + nodePauseMs);
          throw error;
        },
      );
      if (!callback) return connected;
      const succeed = callback as (error?: Error) => void;
      connected.then(() => succeed(), callback);
    }
  };
}
