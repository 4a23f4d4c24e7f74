import { randomBytes } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { hash, verify } from '@node-rs/argon2';
import { checkPassword, maxPasswordBytes, normalizePassword } from './password.rules.js';
import { Refusal } from './refusal.js';

/** Cost of a hash: Argon2id (`algorithm: 2`), 19 MiB, two passes, one lane (OWASP). */
const hashCost = { algorithm: 2, memoryCost: 19_456, timeCost: 2, parallelism: 1 } as const;

/** Maximum number of concurrent hashes per process. One slot is reserved for trusted devices. */
const maxConcurrentHashes = 2;
/** Maximum number of waiting hashes per trust level. Further ones are refused as `busy`. */
const maxWaitingPerQueue = 16;
/** Maximum milliseconds for which a hash waits for a slot. Then it is refused as `busy`. */
const maxSlotWaitMs = 2_000;

/** Trust levels of clients. Each level has a queue. Hashes of an earlier level start first. */
const trustLevels = ['trustedDevice', 'trustedNetwork', 'untrusted'] as const;
/**
 * Trust level of a client:
 * - `trustedDevice`: signed in, or reset the password, with this name before.
 * - `trustedNetwork`: its network had a sign-in within the last week, maybe by somebody else.
 * - `untrusted`: any other client.
 */
export type ClientTrust = (typeof trustLevels)[number];

/**
 * Computes and verifies password hashes (argon2id, PHC strings). Invariants:
 * - A process computes two hashes at a time, at most one of them for clients other than trusted
 *   devices. Short queues and waiting times bound memory and CPU.
 * - Each key (account, link or network) has at most one running or waiting hash, so no key occupies
 *   all slots.
 * - Verification takes the same time for an account without a password.
 */
@Injectable()
export class Passwords {
  /** Verified for an account without a password, which then takes the same time. */
  private readonly decoyHash = createDecoyHash();
  /** Numbers of running hashes by trust level. */
  private readonly runningHashes = { trustedDevice: 0, trustedNetwork: 0, untrusted: 0 };
  /** Functions that start a waiting hash each, by trust level, longest waiting first. */
  private readonly waitingHashes: Record<ClientTrust, (() => void)[]> = {
    trustedDevice: [],
    trustedNetwork: [],
    untrusted: [],
  };
  /** Keys with a running or waiting hash. */
  private readonly busyKeys = new Set<string>();

  /** Number of hashes that wait for a slot, for metrics. */
  get waitingCount(): number {
    return trustLevels.reduce((count, trust) => count + this.waitingHashes[trust].length, 0);
  }

  /**
   * Returns the hash of a new password.
   *
   * @param trust trust level of the client, which decides its queue.
   * @param key that has at most one running or waiting hash; a second call is refused as `busy`.
   * @throws Refusal `password_…` if the password is not acceptable, `busy`.
   */
  async hash(password: string, trust: ClientTrust, name = '', key?: string): Promise<string> {
    checkPassword(password, name);
    return this.runExclusively(key, () =>
      this.runInSlot(trust, () => hash(normalizePassword(password), hashCost)),
    );
  }

  /**
   * Returns true if the password matches the hash. Takes the same time without a hash.
   *
   * @param phc stored hash as a PHC string; null or undefined for an account without a password.
   * @throws Refusal `busy`, also for a second call with the same key.
   */
  async verify(
    phc: string | null | undefined,
    password: string,
    trust: ClientTrust,
    key?: string,
  ): Promise<boolean> {
    // No stored password is this long, so skipping the hash reveals nothing about the account.
    if (Buffer.byteLength(password) > maxPasswordBytes) return false;
    const matches = await this.runExclusively(key, () =>
      this.runInSlot(trust, () => verify(phc ?? this.decoyHash, normalizePassword(password))),
    );
    return matches && phc != null;
  }

  private async runExclusively<Result>(
    key: string | undefined,
    run: () => Promise<Result>,
  ): Promise<Result> {
    if (key === undefined) return run();
    if (this.busyKeys.has(key)) throw new Refusal('busy', 2);
    this.busyKeys.add(key);
    try {
      return await run();
    } finally {
      this.busyKeys.delete(key);
    }
  }

  private async runInSlot<Result>(
    trust: ClientTrust,
    compute: () => Promise<Result>,
  ): Promise<Result> {
    if (this.hasFreeSlot(trust)) this.runningHashes[trust] += 1;
    else await this.waitForSlot(trust);
    try {
      return await compute();
    } finally {
      this.runningHashes[trust] -= 1;
      this.startWaitingHashes();
    }
  }

  private hasFreeSlot(trust: ClientTrust): boolean {
    const { trustedDevice, trustedNetwork, untrusted } = this.runningHashes;
    const otherHashes = trustedNetwork + untrusted;
    return (
      trustedDevice + otherHashes < maxConcurrentHashes &&
      (trust === 'trustedDevice' || otherHashes < maxConcurrentHashes - 1)
    );
  }

  /** Resolves when the hash has a slot, already counted as running. @throws Refusal `busy`. */
  private waitForSlot(trust: ClientTrust): Promise<void> {
    const queue = this.waitingHashes[trust];
    if (queue.length >= maxWaitingPerQueue) return Promise.reject(new Refusal('busy', 2));
    return new Promise((resolve, reject) => {
      const startHash = () => {
        clearTimeout(timer);
        resolve();
      };
      const timer = setTimeout(() => {
        queue.splice(queue.indexOf(startHash), 1);
        reject(new Refusal('busy', 2));
      }, maxSlotWaitMs);
      queue.push(startHash);
    });
  }

  private startWaitingHashes(): void {
    for (const trust of trustLevels) {
      while (this.waitingHashes[trust].length > 0 && this.hasFreeSlot(trust)) {
        this.runningHashes[trust] += 1;
        this.waitingHashes[trust].shift()?.();
      }
    }
  }
}

/** Returns a random PHC string with the cost of stored hashes. It matches no password. */
function createDecoyHash(): string {
  const { memoryCost, timeCost, parallelism } = hashCost;
  const randomBase64 = (bytes: number) => randomBytes(bytes).toString('base64').replaceAll('=', '');
  const salt = randomBase64(16);
  const digest = randomBase64(32);
  return `$argon2id$v=19$m=${memoryCost},t=${timeCost},p=${parallelism}$${salt}$${digest}`;
}
