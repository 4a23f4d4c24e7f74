import { randomBytes } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { hash, verify } from '@node-rs/argon2';
import { mostPasswordBytes, passwordProblem, passwordText } from './password.rule.js';
import { Refusal } from './refusal.js';

/** Argon2id (2) with 19 MiB, two passes and one lane (OWASP Password Storage Cheat Sheet). */
const cost = { algorithm: 2, memoryCost: 19_456, timeCost: 2, parallelism: 1 } as const;

/** Maximum number of concurrent hashes. One slot is reserved for known browsers. */
const mostRunning = 2;
/** Maximum queue length of each class. */
const mostWaiting = 16;
const longestWaitMs = 2_000;

/**
 * Queue classes by priority: browsers that signed in with this name before, networks with a recent
 * sign-in, all other clients. Attackers can be in a network of the second class.
 */
const standings = ['known', 'near', 'stranger'] as const;
export type Standing = (typeof standings)[number];

/**
 * Computes and verifies password hashes (argon2id, PHC strings). Invariants:
 * - Two hashes run concurrently, at most one of them for clients other than known browsers. Short
 *   queues and waiting times bound memory and CPU.
 * - Each key (account, link or network) has one running or waiting hash, so no key takes all slots.
 * - Verifying takes the same time without a stored hash.
 */
@Injectable()
export class Passwords {
  private readonly decoy = decoyHash();
  private readonly running = { known: 0, near: 0, stranger: 0 };
  private readonly queues: Record<Standing, (() => void)[]> = { known: [], near: [], stranger: [] };
  private readonly keys = new Set<string>();

  /** Number of waiting hashes, for metrics. */
  get waiting(): number {
    return standings.reduce((count, standing) => count + this.queues[standing].length, 0);
  }

  /**
   * Returns the hash of a new password.
   *
   * @param key allows one hash at a time; a second one is `busy`.
   * @throws Refusal `password_…` if the password is not acceptable, `busy`.
   */
  async hash(password: string, standing: Standing, name = '', key?: string): Promise<string> {
    const problem = passwordProblem(password, name);
    if (problem) throw new Refusal(problem);
    return this.alone(key, () => this.run(standing, () => hash(passwordText(password), cost)));
  }

  /**
   * Returns true if the password matches the hash. Takes the same time without a hash.
   *
   * @throws Refusal `busy`, also for a second call with the same key.
   */
  async verify(
    phc: string | null | undefined,
    password: string,
    standing: Standing,
    key?: string,
  ): Promise<boolean> {
    // No stored password is this long, so skipping the hash reveals nothing about the account.
    if (Buffer.byteLength(password) > mostPasswordBytes) return false;
    const matches = await this.alone(key, () =>
      this.run(standing, () => verify(phc ?? this.decoy, passwordText(password))),
    );
    return matches && phc != null;
  }

  private async alone<Result>(
    key: string | undefined,
    run: () => Promise<Result>,
  ): Promise<Result> {
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
    return (
      known + near + stranger < mostRunning &&
      (standing === 'known' || near + stranger < mostRunning - 1)
    );
  }

  /** Resolves when a slot is free and counted as running. */
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

  private advance(): void {
    for (const standing of standings) {
      while (this.queues[standing].length > 0 && this.mayRun(standing)) {
        this.running[standing] += 1;
        this.queues[standing].shift()?.();
      }
    }
  }
}

/** Returns a PHC string of the usual cost that matches no password, without computing a hash. */
function decoyHash(): string {
  const { memoryCost, timeCost, parallelism } = cost;
  const text = (bytes: number) => randomBytes(bytes).toString('base64').replaceAll('=', '');
  return `$argon2id$v=19$m=${memoryCost},t=${timeCost},p=${parallelism}$${text(16)}$${text(32)}`;
}
