import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { eventually } from '#testing';
import type { DeletionStack } from './deletion-stack.js';
import { during } from './sync-faults.js';
import { type Call, guidOf, nothing, outcomes, type Request, type State } from './sync-model.js';
import { episode, type SimulatedUser } from './simulated-user.js';
import { feeds, type Step, type Walk, walks } from './walk-arbitrary.js';

/** Of all walks. A failing run prints it; `TEST_SEED` runs the same walks again. */
export const seed = Number(process.env.TEST_SEED ?? Math.floor(Math.random() * 2 ** 31));

/** Checks many concurrent walks, with or without kills. Each has its own user. */
export function checkWalks(
  stack: DeletionStack,
  kills: boolean,
  parameters: fc.Parameters<[Walk]>,
) {
  return fc.check(
    fc.asyncProperty(walks({ kills }), (each) => walk(stack, each)),
    parameters,
  );
}

/** Walks with a new user. @throws Error if no order of the requests explains the answers. */
async function walk(stack: DeletionStack, { groups, faults }: Walk): Promise<void> {
  const walker = new Walker(await stack.newUser());
  for (const [index, group] of groups.entries()) {
    const run = faults
      .filter((each) => each.group % groups.length === index)
      .reduce(
        (inner, { fault }) =>
          () =>
            during(stack, walker.user.id, fault, inner),
        () => walker.together(group),
      );
    await run();
  }
  await walker.end(
    () => stack.letResend(walker.user.id),
    () => stack.pending(walker.user.id),
  );
}

/** A user, and the possible states of the model. */
class Walker {
  private states: State[];
  private readonly names: string[][];
  private readonly urls: string[][];
  private readonly deletions = new Set<number>();
  private readonly writes: { call: Call; key: string }[] = [];
  private steps = 0;

  constructor(readonly user: SimulatedUser) {
    const first = Array.from(
      { length: feeds },
      (_, feed) => `https://feeds.example/${user.id}/${feed}`,
    );
    this.urls = first.map((url) => [url]);
    this.names = first.map((url) => [guidOf(url)]);
    this.states = [nothing(first)];
  }

  /** Runs steps at the same time. */
  async together(group: readonly Step[]): Promise<void> {
    const requests = group.map((each) => ({ request: this.requestOf(each), twice: each.twice }));
    this.explain(
      await Promise.all(requests.map(({ request, twice }) => this.call(request, twice))),
    );
  }

  /** Waits for all deletions, compares all readable data, and repeats every write. */
  async end(letResend: () => Promise<void>, stuck: () => Promise<unknown>): Promise<void> {
    await this.everyDeletionEnds(letResend, stuck);
    this.states = this.states.filter(({ feeds: all }) =>
      all.every(({ pending }) => pending === undefined),
    );
    const reads: Request[] = [{ op: 'list' }, { op: 'episodes' }];
    for (const [feed, names] of this.names.entries())
      for (const name of names) reads.push({ op: 'read', feed, name });
    for (const id of this.deletions) reads.push({ op: 'deletion', id });
    for (const request of reads) this.explain([await this.call(request)]);
    for (const { call, key } of this.writes) {
      const answer = await this.answer(call.request, key);
      if (!isDeepStrictEqual(answer, call.answer))
        throw new Error(`sent again: ${shown(call)} and ${shown(answer)}`);
    }
    for (const request of reads) this.explain([await this.call(request)]);
  }

  private async everyDeletionEnds(
    letResend: () => Promise<void>,
    stuck: () => Promise<unknown>,
  ): Promise<void> {
    const check = async () => {
      const answers = await Promise.all(
        [...this.deletions].map((id) => this.answer({ op: 'deletion', id })),
      );
      if (!answers.some(({ body }) => body['status'] === 'PENDING')) return answers;
      await letResend();
      throw new Error(`deletions do not end: ${shown(await stuck())}`);
    };
    const answers = await eventually(check, { timeout: 60_000, interval: 250 });
    const ids = [...this.deletions];
    for (const [index, answer] of answers.entries())
      this.explain([{ request: { op: 'deletion', id: Number(ids[index]) }, answer }]);
  }

  private explain(calls: Call[]): void {
    const after = outcomes(this.states, calls);
    if (after.length === 0)
      throw new Error(`no order explains ${shown(calls)}\nafter ${shown(this.states)}`);
    this.states = after;
    for (const { request, answer } of calls) {
      if (request.op === 'delete' && answer.status === 202)
        this.deletions.add(Number(answer.body['deletion_id']));
      if (request.op !== 'update' || answer.status !== 200) continue;
      if (request.newGuid) this.names[request.feed]?.unshift(request.newGuid);
      if (request.newUrl) this.urls[request.feed]?.unshift(request.newUrl);
    }
  }

  private requestOf(wanted: Step): Request {
    const { feed } = wanted;
    const any = (list: string[]) => String(list.at(wanted.former ? -1 : 0));
    const [name, url] = [any(this.names[feed] ?? []), any(this.urls[feed] ?? [])];
    const number = (this.steps += 1);
    switch (wanted.op) {
      case 'subscribe':
        return { op: 'subscribe', feed, url };
      case 'update': {
        const newUrl = wanted.move ? `${this.urls[feed]?.at(-1)}/${number}` : undefined;
        const newGuid = wanted.rename ? randomUUID() : undefined;
        return { op: 'update', feed, name, isSubscribed: wanted.isSubscribed, newGuid, newUrl };
      }
      case 'upload':
        return {
          op: 'upload',
          feed,
          name,
          episode: wanted.episode,
          position: number,
          minute: wanted.minute,
        };
      case 'deletion': {
        const id = [...this.deletions].at(-1);
        return id === undefined ? { op: 'list' } : { op: 'deletion', id };
      }
      case 'list':
      case 'episodes':
        return { op: wanted.op };
      case 'delete':
      case 'read':
        return { op: wanted.op, feed, name };
    }
  }

  /** Sends a request, some of them twice at the same time, until it is answered. */
  private async call(request: Request, twice = false): Promise<Call> {
    const key = isWrite(request) ? randomUUID() : undefined;
    const [answer, second] = await Promise.all([
      this.answer(request, key),
      ...(key && twice ? [this.answer(request, key)] : []),
    ]);
    const call = { request, answer };
    if (second && !isDeepStrictEqual(answer, second))
      throw new Error(`sent twice: ${shown(call)} and ${shown(second)}`);
    if (key) this.writes.push({ call, key });
    return call;
  }

  /** Returns the answer to a request, which it repeats with the same key until answered. */
  private answer(request: Request, key?: string): Promise<Call['answer']> {
    const [method, path, body] = wire(request);
    return eventually(
      async () => {
        const answer = await this.user.device.send(method, path, { body, key });
        if (answer.status === 503) throw new Error(`${method} ${path} is not answered`);
        return { status: answer.status, body: answer.body };
      },
      { timeout: 40_000, interval: 100 },
    );
  }
}

function isWrite({ op }: Request): boolean {
  return ['subscribe', 'update', 'delete', 'upload'].includes(op);
}

function wire(request: Request): [method: string, path: string, body?: unknown] {
  switch (request.op) {
    case 'subscribe':
      return ['POST', '/subscriptions', { subscriptions: [{ feed_url: request.url }] }];
    case 'update': {
      const { isSubscribed, newGuid, newUrl } = request;
      const body = { is_subscribed: isSubscribed, new_guid: newGuid, new_feed_url: newUrl };
      return ['PATCH', `/subscriptions/${request.name}`, body];
    }
    case 'delete':
      return ['DELETE', `/subscriptions/${request.name}`];
    case 'upload':
      return [
        'POST',
        '/episodes',
        { episodes: [episode(request.name, request.episode, request.position, request.minute)] },
      ];
    case 'read':
      return ['GET', `/subscriptions/${request.name}`];
    case 'list':
      return ['GET', '/subscriptions?per_page=1000'];
    case 'episodes':
      return ['GET', '/episodes?per_page=1000'];
    case 'deletion':
      return ['GET', `/deletions/${request.id}`];
  }
}

const shown = (value: unknown) => JSON.stringify(value, undefined, 1);
