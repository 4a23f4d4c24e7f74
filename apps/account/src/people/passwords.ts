import { randomBytes } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { hash, verify } from '@node-rs/argon2';
import { mostPasswordBytes, passwordProblem, passwordText } from './password.rule.js';
import { Refusal } from './refusal.js';

/** Argon2id as OWASP's Password Storage Cheat Sheet advises: 19 MiB, two passes, one lane; 2 is `argon2id`. */
const cost = { algorithm: 2, memoryCost: 19_456, timeCost: 2, parallelism: 1 } as const;

/** Hashes that run at the same time, each 19 MiB and one processor; all but known browsers together get one less. */
const mostRunning = 2;
/** Hashes of each kind of visitor that wait. */
const mostWaiting = 16;
/** How long one waits at most, in milliseconds. */
const longestWaitMs = 2_000;

/**
 * Who waits, those who go first first: a browser that has signed in as this name before, a network from which somebody
 * signed in lately, and others, who may be strangers that try passwords. Strangers may be in such a network as well.
 */
const standings = ['known', 'near', 'stranger'] as const;
export type Standing = (typeof standings)[number];

/**
 * Makes and checks hashes of passwords (argon2id, as PHC texts).
 *
 * Invariants:
 * - At most two hashes are computed at the same time, at most one of them for other than known browsers, and few wait, for
 *   a short time: however many sign in at once, memory and processors stay free and who is known gets a turn.
 * - Of one key, such as an account, a link or a network, one is computed or waits: nobody takes every slot.
 * - Checking costs the same where there is no hash to compare with.
 */
@Injectable()
export class Passwords {
  private readonly decoy = decoyHash();
  private readonly running = { known: 0, near: 0, stranger: 0 };
  private readonly queues: Record<Standing, (() => void)[]> = { known: [], near: [], stranger: [] };
  private readonly keys = new Set<string>();

  /** Hashes that wait for their turn, for metrics. */
  get waiting(): number {
    return standings.reduce((count, standing) => count + this.queues[standing].length, 0);
  }

  /**
   * The hash of a password that somebody chose.
   *
   * @param key of which one is computed at a time; a second one is `busy`.
   * @throws Refusal `password_…` where it is no good one, `busy`.
   */
  async hash(password: string, standing: Standing, name = '', key?: string): Promise<string> {
    const problem = passwordProblem(password, name);
    if (problem) throw new Refusal(problem);
    return this.alone(key, () => this.run(standing, () => hash(passwordText(password), cost)));
  }

  /**
   * Whether a password belongs to a hash. Takes the same time where there is none.
   *
   * @param key as with {@link hash}.
   * @throws Refusal `busy`.
   */
  async verify(phc: string | null | undefined, password: string, standing: Standing, key?: string): Promise<boolean> {
    // Nobody has such a password; it costs no hash, whoever's it is to be.
    if (Buffer.byteLength(password) > mostPasswordBytes) return false;
    const matches = await this.alone(key, () =>
      this.run(standing, () => verify(phc ?? this.decoy, passwordText(password))),
    );
    return matches && phc != null;
  }

  private async alone<Result>(key: string | undefined, run: () => Promise<Result>): Promise<Result> {
    if (key === undefined) return run();
    if (this.keys.has(key)) throw new Refusal('busy', 2);
    this.keys.add(key);
    try {
      return await run();
    } finally {
      this.keys.delete(key);
    }
  }

  private async run<Result>(standing: Standing, compute: () => Promise<Result>): Promise<Result> {
    if (this.mayRun(standing)) this.running[standing] += 1;
    else await this.wait(standing);
    try {
      return await compute();
    } finally {
      this.running[standing] -= 1;
      this.advance();
    }
  }

  private mayRun(standing: Standing): boolean {
    const { known, near, stranger } = this.running;
    return known + near + stranger < mostRunning && (standing === 'known' || near + stranger < mostRunning - 1);
  }

  /** Resolves when it is this one's turn; it counts as running then. */
  private wait(standing: Standing): Promise<void> {
    const queue = this.queues[standing];
    if (queue.length >= mostWaiting) return Promise.reject(new Refusal('busy', 2));
    return new Promise((resolve, reject) => {
      const start = () => {
        clearTimeout(timer);
        resolve();
      };
      const timer = setTimeout(() => {
        queue.splice(queue.indexOf(start), 1);
        reject(new Refusal('busy', 2));
      }, longestWaitMs);
      queue.push(start);
    });
  }

  /** Starts those who have waited longest, in the order of {@link standings}. */
  private advance(): void {
    for (const standing of standings) {
      while (this.queues[standing].length > 0 && this.mayRun(standing)) {
        this.running[standing] += 1;
        this.queues[standing].shift()?.();
      }
    }
  }
}

/** What looks like a hash of the usual cost and is of no password: computing one would take 19 MiB at each start. */
function decoyHash(): string {
  const { memoryCost, timeCost, parallelism } = cost;
  const text = (bytes: number) => randomBytes(bytes).toString('base64').replaceAll('=', '');
  return `$argon2id$v=19$m=${memoryCost},t=${timeCost},p=${parallelism}$${text(16)}$${text(32)}`;
}
