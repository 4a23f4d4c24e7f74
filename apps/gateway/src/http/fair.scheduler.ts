import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { answerPlainly } from './broken.http.js';
import { failureAnswers } from './failure.responses.js';

/** Requests that begin in one tick of the event loop: of one user, and of all. */
const [perUser, perTick] = [4, 64];

/** Requests that wait at most: each keeps its head in memory, which nothing else counts yet. */
const maxWaiting = 4_000;

/**
 * Spreads requests over ticks of the event loop, so that those of one user never wait behind hundreds that another sent
 * at once. Users take turns.
 *
 * Of the places to wait a user may take at most half of those that are free, as of the bytes that are held (ADR 11).
 */
export class FairScheduler {
  /** Those with requests in this tick or waiting: how many have begun in this tick, and the others in their order. */
  private readonly users = new Map<string, { begun: number; waiting: (() => void)[] }>();
  /** Requests of all users that have begun in this tick, and that wait. */
  private begun = 0;
  private waiting = 0;
  private isScheduled = false;

  /**
   * Begins a request, at once where this tick allows it.
   *
   * @returns `false` where too many wait already; then it will not begin.
   */
  begin(userId: string, request: () => void): boolean {
    const user = this.users.get(userId) ?? { begun: 0, waiting: [] };
    this.users.set(userId, user);
    if (!this.isScheduled) this.schedule();
    if (user.begun < perUser && this.begun < perTick) {
      user.begun += 1;
      this.begun += 1;
      request();
      return true;
    }
    if (user.waiting.length >= (maxWaiting - this.waiting) / 2) return false;
    this.waiting += 1;
    user.waiting.push(request);
    return true;
  }

  private schedule(): void {
    this.isScheduled = true;
    setImmediate(() => {
      this.isScheduled = false;
      this.begun = 0;
      // A copy, as the map changes meanwhile.
      const users = [...this.users];
      for (const [userId, user] of users) {
        if (this.begun >= perTick) break;
        const next = user.waiting.splice(0, Math.min(perUser, perTick - this.begun));
        this.waiting -= next.length;
        this.begun += next.length;
        user.begun = next.length;
        // Whoever has begun some goes behind those who have not.
        if (next.length > 0 || user.waiting.length === 0) this.users.delete(userId);
        if (next.length > 0) this.users.set(userId, user);
        for (const request of next) request();
      }
      if (this.users.size > 0 && !this.isScheduled) this.schedule();
    });
  }
}

/**
 * Begins the requests of a server fairly, before anything is done for them: to verify or to refuse hundreds in one tick
 * takes its time, too. As their users are not known yet, those with the same credential, or none, count as one user's.
 */
export function scheduleFairly(server: Server): void {
  const scheduler = new FairScheduler();
  const listeners = server.listeners('request') as ((request: IncomingMessage, response: ServerResponse) => void)[];
  server.removeAllListeners('request');
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    const begin = () => {
      // Its client may be gone since.
      if (!request.socket.destroyed) for (const listener of listeners) listener.call(server, request, response);
    };
    if (!scheduler.begin(request.headers.authorization ?? '', begin)) {
      answerPlainly(response, failureAnswers.unavailable);
    }
  });
}
