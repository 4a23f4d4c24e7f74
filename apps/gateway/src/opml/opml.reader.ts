import { Worker } from 'node:worker_threads';
import { Failure, unavailable } from '#contracts';
import { RequestEnd, UserLimiter } from '#http';

/** Documents that wait for the thread at most: of real ones the last is read within a second. */
const mostWaiting = 16;

/** How long one document may take, in milliseconds: the worst of 2 MiB takes two seconds, a list of 5,000 feeds a fifth of one. */
const readMs = 5_000;

/** What a thread may have, in MB: the worst document takes 80. Beyond it Node ends the thread, and it alone. */
const resourceLimits = { maxOldGenerationSizeMb: 96, maxYoungGenerationSizeMb: 16, stackSizeMb: 2 };

/**
 * Reads OPML documents, one at a time, each in a thread of its own: a stranger's document may take seconds, and the event
 * loop that answers everybody has none to spare. The thread ends with its document, so idle costs nothing.
 */
export class OpmlReader {
  /** One reader for all: whoever asks, documents take turns. */
  private readonly turns = new UserLimiter({
    running: 1,
    runningBytes: 0,
    waiting: mostWaiting,
    waitingInAll: mostWaiting,
  });

  /** @param program of the thread; where the bundles are unless a test says otherwise. */
  constructor(private readonly program = new URL('./opml-thread.js', import.meta.url)) {}

  /**
   * Reads the feed URLs of a document, in its order.
   *
   * @param budgetMs how long its caller waits.
   * @throws Failure `invalid` for what is no OPML document; `unavailable` where too many wait or it takes too long.
   */
  async read(document: Buffer, budgetMs: number, end: RequestEnd): Promise<string[]> {
    const turn = { userId: 'all', bytes: document.length, budgetMs, end };
    const urls = await this.turns.run(turn, (leftMs) => this.inThread(document, Math.min(readMs, leftMs)));
    if (!urls) throw new Failure('invalid');
    return urls;
  }

  private inThread(document: Buffer, limitMs: number): Promise<string[] | undefined> {
    // A copy to give away: the buffer that a body is part of is the request's.
    const workerData = new Uint8Array(document);
    return new Promise((resolve, reject) => {
      const thread = new Worker(this.program, {
        workerData,
        transferList: [workerData.buffer],
        resourceLimits,
        env: {},
        execArgv: [],
      });
      const late = setTimeout(() => void thread.terminate(), limitMs);
      thread.once('message', resolve);
      thread.once('error', (cause) => reject(unavailable('a document could not be read', cause)));
      thread.once('exit', () => {
        clearTimeout(late);
        reject(unavailable('a document took too long to read'));
      });
    });
  }
}
