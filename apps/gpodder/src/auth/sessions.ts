import { randomUUID } from 'node:crypto';
import { checkSession, endSession, unavailable } from '#contracts';
import type { Credential, Revocations } from '#identity';
import { gpodderSessionMetrics } from '../gpodder.metrics.js';
import { call, type StreamClient } from '#transport';
import type { SignedSession } from './session.cookie.js';

/** How long an answer is believed, in milliseconds: a session that counts, and one that does not. */
const [knownMs, endedMs] = [60_000, 5_000];
/** Sessions that are remembered: in all, and of one app password, which has as many at the account service. */
const [mostKnown, mostKnownOfOne] = [20_000, 50];
/** Questions at the same time: in all, and about sessions of one app password, of which a user can have any number signed. */
const [mostAsked, mostAskedOfOne] = [256, 4];

/** What the account service said of a session. */
interface Known {
  /** The app password that the session was made with. */
  readonly credentialId: string;
  /** `undefined` where it was ended. */
  readonly credential: Credential | undefined;
  /** By `performance.now()`, before the question was sent. */
  readonly askedAt: number;
}

/**
 * Asks the account service whose a session is, and remembers it for a minute, as app passwords are: never beyond the app
 * password's expiry, and never once the session or the app password is revoked. Only sessions that were signed here are
 * asked for, so a stranger costs nobody a question; and few of one app password at a time, so nobody takes the others' places.
 */
export class Sessions {
  /** The least recently used first. */
  private readonly known = new Map<string, Known>();
  /** What is remembered by app password, in the same order. */
  private readonly knownOf = new Map<string, Set<string>>();
  private readonly asking = new Map<string, Promise<Known>>();
  /** Questions under way by app password. */
  private readonly askingOf = new Map<string, number>();
  private readonly count = gpodderSessionMetrics();

  constructor(
    private readonly client: StreamClient,
    private readonly revocations: Revocations,
  ) {}

  /** How many sessions are remembered, and of how many app passwords. For tests. */
  get remembered(): { sessions: number; credentials: number } {
    return { sessions: this.known.size, credentials: this.knownOf.size };
  }

  /**
   * Whose the session is; `undefined` where it was ended.
   *
   * @throws Failure `unavailable` where nobody can tell.
   */
  async check(session: SignedSession): Promise<Credential | undefined> {
    const credential = await this.find(session);
    if (!credential) this.count('refused');
    return credential;
  }

  private async find(session: SignedSession): Promise<Credential | undefined> {
    const { sessionId } = session;
    const known = this.known.get(sessionId);
    if (known && this.isBelieved(known, sessionId)) {
      this.remember(sessionId, known);
      return known.credential;
    }
    const found = await (this.asking.get(sessionId) ?? this.askOnce(session));
    // A question that another request began may be older than what was revoked since.
    if (this.isBelieved(found, sessionId)) return found.credential;
    const again = await (this.asking.get(sessionId) ?? this.askOnce(session));
    return this.isBelieved(again, sessionId) ? again.credential : undefined;
  }

  /** Ends a session for good. Twice is once. @throws Failure `unavailable` */
  async end(session: SignedSession): Promise<void> {
    await call(this.client, endSession, session, { requestId: randomUUID() });
    const { sessionId, credentialId } = session;
    this.remember(sessionId, { credentialId, credential: undefined, askedAt: performance.now() });
  }

  private isBelieved({ credential, askedAt }: Known, sessionId: string): boolean {
    const age = performance.now() - askedAt;
    if (!credential) return age < endedMs;
    const { userId, credentialId, expiresAt } = credential;
    if (age >= knownMs || (expiresAt !== undefined && Date.parse(expiresAt) <= Date.now())) return false;
    return !this.revocations.refuses({ userId, credentialId, gid: sessionId, askedAt });
  }

  private askOnce(session: SignedSession): Promise<Known> {
    const { sessionId, credentialId } = session;
    const askedOfOne = this.askingOf.get(credentialId) ?? 0;
    if (this.asking.size >= mostAsked || askedOfOne >= mostAskedOfOne) {
      this.count('busy');
      throw tooMany;
    }
    const askedAt = performance.now();
    const begun = call(this.client, checkSession, session, { requestId: randomUUID() })
      .then(({ credential }) => {
        const found = { credentialId, credential: credential ?? undefined, askedAt };
        this.remember(sessionId, found);
        return found;
      })
      .finally(() => {
        this.asking.delete(sessionId);
        const left = (this.askingOf.get(credentialId) ?? 1) - 1;
        if (left > 0) this.askingOf.set(credentialId, left);
        else this.askingOf.delete(credentialId);
      });
    this.asking.set(sessionId, begun);
    this.askingOf.set(credentialId, askedOfOne + 1);
    return begun;
  }

  private remember(sessionId: string, known: Known): void {
    this.forget(sessionId);
    this.known.set(sessionId, known);
    const ofOne = this.knownOf.get(known.credentialId) ?? new Set();
    this.knownOf.set(known.credentialId, ofOne.add(sessionId));
    const [oldestOfOne] = ofOne;
    if (ofOne.size > mostKnownOfOne && oldestOfOne !== undefined) this.forget(oldestOfOne);
    const [oldest] = this.known.keys();
    if (this.known.size > mostKnown && oldest !== undefined) this.forget(oldest);
  }

  private forget(sessionId: string): void {
    const known = this.known.get(sessionId);
    if (!known) return;
    this.known.delete(sessionId);
    const ofOne = this.knownOf.get(known.credentialId);
    ofOne?.delete(sessionId);
    if (ofOne?.size === 0) this.knownOf.delete(known.credentialId);
  }
}

/** Created once, as refusing a request has to cost less than sending it. */
const tooMany = unavailable('too many sessions are asked for');
