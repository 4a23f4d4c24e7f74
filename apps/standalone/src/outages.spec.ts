import { eventually } from '#testing';
import { beforeEach, describe, expect, it } from 'vitest';
import { Outages } from './outages.js';

let lines: string[];
let restarting: Set<string>;
let outages: Outages;
beforeEach(() => {
  lines = [];
  restarting = new Set();
  outages = new Outages(
    (line) => lines.push(line),
    (server) => restarting.has(server),
    10,
  );
});

const began = 'Redis unavailable, requests get 503: read ECONNRESET';
const ended = 'Redis available again after 0 s';
/** Waits until an outage that starts now is shown. */
async function shown(server: string): Promise<void> {
  outages.recordStart('other', server, 'slow');
  await eventually(() => expect(lines.join()).toContain(`${server} unavailable`));
}

describe('an outage', () => {
  it('is one line with the first cause and one at its end, for all parts and apps', async () => {
    outages.recordStart('edge', 'Redis', undefined);
    outages.recordStart('edge', 'Redis', 'Redis: read ECONNRESET');
    outages.recordStart('episode', 'Redis', 'connect ECONNREFUSED');
    await eventually(() => expect(lines).toEqual([began]));
    outages.recordEnd('episode', 'Redis');
    outages.recordEnd('edge', 'Redis');
    expect(lines).toEqual([began]);
    outages.recordEnd('edge', 'Redis');
    expect(lines).toEqual([began, ended]);
  });

  it('ends with the process of the last app that reported it', async () => {
    outages.recordStart('edge', 'Redis', 'read ECONNRESET');
    await eventually(() => expect(lines).toEqual([began]));
    outages.dropApp('edge');
    expect(lines).toEqual([began, ended]);
  });

  it('is not shown if it is short', async () => {
    outages.recordStart('edge', 'Redis', 'read ECONNRESET');
    outages.recordEnd('edge', 'Redis');
    await shown('Postgres');
    expect(lines.join()).not.toContain('Redis');
  });

  it('is not shown while the supervisor restarts the server', async () => {
    restarting.add('Redis');
    outages.recordStart('edge', 'Redis', 'read ECONNRESET');
    await shown('Postgres');
    expect(lines.join()).not.toContain('Redis');
    restarting.clear();
    await eventually(() => expect(lines).toContain(began));
  });
});
