import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { mismatch } from './match.rules.js';
import { Scope } from './scope.js';
import {
  type HttpAnswer,
  type HttpRequest,
  ServerClient,
  ServerError,
  type Target,
} from './server.client.js';
import type { Step, Vector } from './vector.js';

/** The result of a vector. */
export interface Result {
  vector: Vector;
  outcome: 'passed' | 'failed' | 'skipped';
  /** The step and its first difference; or the reason why the vector was skipped. */
  detail?: string;
  milliseconds: number;
}

/** The results of a run. */
export interface RunResult {
  results: Result[];
  /** Number of the run's subscriptions that the server did not delete. */
  remaining: number;
}

/** The answer to a step differs from the expected one. */
class Mismatch extends Error {}

/** Time limit of a step with `until`, in milliseconds. */
const untilLimit = 20_000;

/**
 * Runs vectors one after another against a server. Then it deletes the subscriptions that they
 * created, also after an error.
 */
export async function runVectors(target: Target, vectors: Vector[]): Promise<RunResult> {
  const client = new ServerClient(target);
  const run = `https://conformance.example/${randomUUID()}`;
  const start = new Date(Date.now() - 600_000).toISOString();
  const results: Result[] = [];
  let remaining = 0;
  try {
    for (const vector of vectors)
      results.push(await runVector(client, vector, `${run}/${vector.id}`));
  } finally {
    // The deletions have at least 30 seconds, even if the time limit of the run has passed.
    const deadline = Math.max(target.deadline, Date.now() + 30_000);
    remaining = await new ServerClient({ ...target, deadline }).deleteFeeds(run, start);
  }
  return { results, remaining };
}

async function runVector(client: ServerClient, vector: Vector, prefix: string): Promise<Result> {
  const started = performance.now();
  const result = (outcome: Result['outcome'], detail?: string): Result => ({
    vector,
    outcome,
    ...(detail !== undefined && { detail }),
    milliseconds: Math.round(performance.now() - started),
  });
  const needed = vector.steps.flatMap(usersOf);
  if (!needed.every((user) => client.hasUser(user))) return result('skipped', 'needs --token2');
  const run = new VectorRun(client, new Scope(prefix));
  for (const [at, step] of vector.steps.entries()) {
    try {
      await run.run(step);
    } catch (error) {
      if (!(error instanceof Mismatch) && !(error instanceof ServerError)) throw error;
      return result('failed', `step ${at + 1}: ${error.message}`);
    }
  }
  return result('passed');
}

function usersOf(step: Step): HttpRequest['user'][] {
  const inner = [...(step.parallel ?? []), ...(step.between ?? [])];
  return [step.user ?? 1, ...inner.flatMap(usersOf)];
}

/** Runs the steps of one vector, which share captured values and devices. */
class VectorRun {
  /** The next `since` by device. */
  private readonly cursors = new Map<string, string>();

  constructor(
    private readonly client: ServerClient,
    private readonly scope: Scope,
  ) {}

  async run(step: Step): Promise<void> {
    if (step.parallel) {
      await Promise.all(step.parallel.map((inner) => this.run(inner)));
      return;
    }
    const end = Date.now() + untilLimit;
    for (let delay = 20; ; delay = Math.min(delay * 2, 500)) {
      try {
        await this.runOnce(step);
        return;
      } catch (error) {
        if (!step.until || !(error instanceof Mismatch) || Date.now() > end) throw error;
        await wait(delay);
      }
    }
  }

  private async runOnce(step: Step): Promise<void> {
    const request = this.requestOf(step);
    const answer = step.walk
      ? await this.client.walk(request, step.walk, () => this.runAll(step.between ?? []))
      : await this.client.send(request);
    const found = differenceOf(step, answer, this.scope);
    if (found !== undefined)
      throw new Mismatch(`${request.method} ${request.path}: ${found}${excerpt(answer)}`);
    if (step.poll !== undefined) this.cursors.set(step.poll, answer.cursor);
  }

  private async runAll(steps: Step[]): Promise<void> {
    for (const step of steps) await this.run(step);
  }

  private requestOf(step: Step): HttpRequest {
    const text = String(this.scope.resolve(step.request ?? ''));
    const space = text.indexOf(' ');
    const path = text.slice(space + 1);
    const cursor = step.poll === undefined ? undefined : this.cursors.get(step.poll);
    const body = this.bodyOf(step);
    return {
      method: text.slice(0, space),
      path: cursor === undefined ? path : withSince(path, cursor),
      user: step.user ?? 1,
      headers: this.headersOf(step),
      ...(body !== undefined && { body }),
    };
  }

  private headersOf(step: Step): Record<string, string> {
    const type = step.body !== undefined && { 'content-type': 'application/json' };
    const headers = { accept: 'application/json', ...type, ...step.headers };
    return this.scope.resolve(headers) as Record<string, string>;
  }

  private bodyOf(step: Step): string | undefined {
    if (step.raw !== undefined) return String(this.scope.resolve(step.raw));
    return step.body === undefined ? undefined : JSON.stringify(this.scope.resolve(step.body));
  }
}

function differenceOf(step: Step, answer: HttpAnswer, scope: Scope): string | undefined {
  const allowed = [step.status ?? 200].flat();
  if (!allowed.includes(answer.status))
    return `status ${answer.status}, expected ${allowed.join(' or ')}`;
  for (const [name, pattern] of Object.entries(step.expectHeaders ?? {})) {
    const value = answer.headers.get(name) ?? undefined;
    const found = mismatch(scope.resolve(pattern), value, scope.captures, `header ${name}`);
    if (found !== undefined) return found;
  }
  if (step.expect === undefined) return undefined;
  return mismatch(scope.resolve(step.expect), answer.body, scope.captures);
}

/** Returns the first 200 characters of an error's body, for the message; empty for a success. */
function excerpt(answer: HttpAnswer): string {
  return answer.status < 400 ? '' : `; body ${JSON.stringify(answer.body).slice(0, 200)}`;
}

function withSince(path: string, since: string): string {
  return `${path}${path.includes('?') ? '&' : '?'}since=${encodeURIComponent(since)}`;
}
