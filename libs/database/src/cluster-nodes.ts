import pg from 'pg';

/** Time for which a node gets no new connections after a failed one, in milliseconds. */
const nodePauseMs = 5_000;

/** Splits a list of Postgres URLs at each comma before a URL. Other commas are part of a URL. */
export function nodesOf(urls: string): string[] {
  return urls.split(/,\s*(?=postgres(?:ql)?:\/\/)/);
}

/**
 * Returns a class of `pg` clients. Each new client connects to the next of the nodes. After a
 * failed connection, a node is skipped for {@link nodePauseMs}. If all nodes are in this pause,
 * none is skipped.
 */
export function clientOfNodes(nodes: readonly string[]): typeof pg.Client {
  /** By node: the end of its pause, as a value of `performance.now()`. */
  const pauseEnds = new Map<string, number>();
  let nextIndex = Math.floor(Math.random() * nodes.length);
  const chooseNode = (): string => {
    const startIndex = nextIndex % nodes.length;
    nextIndex += 1;
    const inRotation = [...nodes.slice(startIndex), ...nodes.slice(0, startIndex)];
    const isReady = (node: string) => (pauseEnds.get(node) ?? 0) <= performance.now();
    return inRotation.find(isReady) ?? (inRotation[0] as string);
  };

  return class extends pg.Client {
    private readonly node: string;

    constructor(config?: pg.ClientConfig) {
      const node = chooseNode();
      super({ ...config, connectionString: node });
      this.node = node;
    }

    override connect(): Promise<this>;
    override connect(callback: (error: Error) => void): void;
    override connect(callback?: (error: Error) => void): Promise<this> | void {
      const connection = super.connect().then(
        () => this,
        (error: unknown) => {
          pauseEnds.set(this.node, performance.now() + nodePauseMs);
          throw error;
        },
      );
      if (!callback) return connection;
      const reportSuccess = callback as (error?: Error) => void;
      connection.then(() => reportSuccess(), callback);
    }
  };
}
