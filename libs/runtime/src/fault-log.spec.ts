import { beforeEach, expect, it } from 'vitest';
import { createLog, FaultLog } from './log.js';

class ServerError extends Error {
  constructor(readonly server: string) {
    super('no answer');
  }
}

let lines: { level: string; msg: string; outage?: string; err?: { message: string } }[];
let faults: FaultLog;
beforeEach(() => {
  lines = [];
  const log = createLog('test', 'info', { write: (line) => void lines.push(JSON.parse(line)) });
  faults = new FaultLog(log, { failed: 'loop failed', recovered: 'loop works again' }, (error) =>
    error instanceof ServerError ? error.server : undefined,
  );
});
const shown = () => lines.map(({ level, msg, outage, err }) => [level, msg, outage, err?.message]);

it('logs the start and the end of an outage with its server, once each', () => {
  faults.recordSuccess();
  faults.recordFailure(new ServerError('Redis'));
  faults.recordFailure(new ServerError('Redis'));
  faults.recordSuccess();
  faults.recordSuccess();
  expect(shown()).toEqual([
    ['warn', 'loop failed', 'Redis', 'no answer'],
    ['info', 'loop works again', 'Redis', undefined],
  ]);
});

it('logs each further failure, but only the first server as an outage', () => {
  faults.recordFailure(new Error('bug'));
  faults.recordFailure(new ServerError('Redis'));
  faults.recordFailure(new ServerError('Postgres'));
  faults.recordSuccess();
  faults.recordFailure(new Error('bug'));
  expect(shown()).toEqual([
    ['warn', 'loop failed', undefined, 'bug'],
    ['warn', 'loop failed', 'Redis', 'no answer'],
    ['warn', 'loop failed', undefined, 'no answer'],
    ['info', 'loop works again', 'Redis', undefined],
    ['warn', 'loop failed', undefined, 'bug'],
  ]);
});
