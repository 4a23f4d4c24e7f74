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
} from './server-client.js';
import type { Step, Vector } from './vector.js';

/** Result of a vector, the test case of one rule. */
export interface Result {
  vector: Vector;
  outcome: 'passed' | 'failed' | 'skipped';
  /** The step and its first difference; or the reason why the vector was skipped. */
  detail?: string;
  milliseconds: number;
}

/** Results of a run of the suite. */
export interface RunResult {
  results: Result[];
  /** Number of the run's subscriptions that the server did not delete. */
  remaining: number;
}

/** Error for an answer that differs from the one that a step expects. */
class AnswerMismatch extends Error {}

/** Maximum milliseconds for which a step with `until` is repeated. */
const untilTimeoutMs = 20_000;

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
      await run.runStep(step);
    } catch (error) {
      if (!(error instanceof AnswerMismatch) && !(error instanceof ServerError)) throw error;
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
  /** The next `since` of each simulated device. */
  private readonly sinceByDevice = new Map<string, string>();

  constructor(
    private readonly client: ServerClient,
    private readonly scope: Scope,
  ) {}

  async runStep(step: Step): Promise<void> {
    if (step.parallel) {
      await Promise.all(step.parallel.map((inner) => this.runStep(inner)));
      return;
    }
    const end = Date.now() + untilTimeoutMs;
    for (let delay = 20; ; delay = Math.min(delay * 2, 500)) {
      try {
        await this.runOnce(step);
        return;
      } catch (error) {
        if (!step.until || !(error instanceof AnswerMismatch) || Date.now() > end) throw error;
        await wait(delay);
      }
    }
  }

  private async runOnce(step: Step): Promise<void> {
    const request = this.requestOf(step);
    const answer = step.walk
      ? await this.client.readAllPages(request, step.walk, () => this.runSteps(step.between ?? []))
      : await this.client.send(request);
    const found = differenceOf(step, answer, this.scope);
    if (found !== undefined)
      throw new AnswerMismatch(`${request.method} ${request.path}: ${found}${bodyExcerpt(answer)}`);
    if (step.poll !== undefined) this.sinceByDevice.set(step.poll, answer.nextSince);
  }

  private async runSteps(steps: Step[]): Promise<void> {
    for (const step of steps) await this.runStep(step);
  }

  private requestOf(step: Step): HttpRequest {
    const text = String(this.scope.resolve(step.request ?? ''));
    const space = text.indexOf(' ');
    const path = text.slice(space + 1);
    const since = step.poll === undefined ? undefined : this.sinceByDevice.get(step.poll);
    const body = this.bodyOf(step);
    return {
      method: text.slice(0, space),
      path: since === undefined ? path : withSince(path, since),
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
function bodyExcerpt(answer: HttpAnswer): string {
  return answer.status < 400 ? '' : `; body ${JSON.stringify(answer.body).slice(0, 200)}`;
}

function withSince(path: string, since: string): string {
  return `${path}${path.includes('?') ? '&' : '?'}since=${encodeURIComponent(since)}`;
}
