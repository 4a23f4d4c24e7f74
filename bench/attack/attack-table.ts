import type { ProcessReport } from './attacked-system.js';
import type { Polls } from './neighbour.js';

/** Results of an attack. */
export interface Outcome {
  readonly attack: string;
  readonly statuses: Readonly<Record<string, number>>;
  readonly polls: Polls;
  readonly processes: readonly ProcessReport[];
}

/** Polls without an attack, for comparison. */
export interface Reference {
  /** Polls of the idle system. */
  readonly idle: Polls;
  /** Polls of a bare server of Node during a flood of {@link floodedConnections} connections. */
  readonly flooded: Polls;
}

/** Connections of the flood that delays a bare server. */
export const floodedConnections = 2_000;

/**
 * Limits of the neighbour's slowest poll and of its p99, in milliseconds. Ten times the idle p99
 * replaces a limit that is lower.
 */
const [slowestMs, slowMs] = [1_000, 250];
/**
 * Multiple of the p99 of a bare server under a flood of as many connections. It replaces a limit
 * of the p99 that is lower: on a slow machine, no server of Node accepts them within that limit.
 */
const floodFactor = 10;
/** Goal and limit of event loop delays in ms. The limit allows for shared machines. */
const [goalMs, stoodStillMs] = [100, 1_000];

/** Returns all exceeded limits of an attack. */
export function problems({ statuses, polls, processes }: Outcome, reference: Reference): string[] {
  const { idle, flooded } = reference;
  const connections = Object.values(statuses).reduce((sum, count) => sum + count, 0);
  const floodMs = (floodFactor * flooded.p99 * connections) / floodedConnections;
  const slowest = Math.max(10 * idle.p99, slowestMs);
  const slow = Math.max(10 * idle.p99, slowMs, Math.round(floodMs));
  return [
    ...(polls.failures.length > 0
      ? [`${polls.failures.length} polls of the neighbour failed: ${counted(polls)}`]
      : []),
    ...(polls.p99 > slow ? [`the neighbour's p99 is ${polls.p99} ms, above ${slow} ms`] : []),
    ...(polls.max > slowest ? [`the neighbour's slowest poll took ${polls.max} ms`] : []),
    ...(statuses['500'] === undefined ? [] : [`${statuses['500']} answers were 500`]),
    ...processes.flatMap((process) => processProblems(process)),
  ];
}

function processProblems({
  app,
  stoodStillMs: ms,
  peakBytes,
  limitBytes,
}: ProcessReport): string[] {
  if (ms === undefined || peakBytes === undefined) return [`${app} ended or did not answer`];
  return [
    ...(ms > stoodStillMs ? [`the event loop of ${app} stood still for ${ms} ms`] : []),
    ...(peakBytes > limitBytes
      ? [`${app} had ${megabytes(peakBytes)} MiB of ${megabytes(limitBytes)}`]
      : []),
  ];
}

/** Returns a text table of all results. `!` marks delays above the goal, `X` exceeded limits. */
export function table(outcomes: readonly Outcome[], reference: Reference): string {
  const { idle, flooded } = reference;
  const rows = outcomes.map((outcome) => {
    const { attack, statuses, polls, processes } = outcome;
    const counts = Object.entries(statuses).map(([status, count]) => `${count} x ${status}`);
    return [
      problems(outcome, reference).length > 0 ? 'X' : '',
      attack,
      counts.join(', '),
      `${polls.failures.length} of ${polls.count}`,
      `${polls.p50} / ${polls.p99} / ${polls.max}`,
      processes
        .map(({ stoodStillMs: ms }) => (ms === undefined ? '-' : `${ms}${ms > goalMs ? '!' : ''}`))
        .join(' '),
      processes.map((process) => process.busyMs).join(' '),
      processes
        .map(({ peakBytes }) => (peakBytes === undefined ? '-' : megabytes(peakBytes)))
        .join(' '),
    ];
  });
  const order = 'gateway subscription episode deletion-worker account gpodder';
  const head = [
    '',
    'attack',
    'answers',
    'failed polls',
    'p50 / p99 / max ms',
    'event loops ms',
    'CPU ms',
    'peak MiB',
  ];
  const widths = head.map((name, column) =>
    Math.max(...[head, ...rows].map((row) => (row[column] ?? name).length)),
  );
  const line = (row: string[]) =>
    row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ');
  return [
    'A neighbour who polls every 20 ms, without an attack: ' +
      `p50 / p99 / max ${idle.p50} / ${idle.p99} / ${idle.max} ms.`,
    `A bare server of Node during a flood of ${floodedConnections} connections: ` +
      `${flooded.p50} / ${flooded.p99} / ${flooded.max} ms.`,
    `The processes are ${order}; ! is above ${goalMs} ms, X out of bounds.`,
    line(head),
    ...rows.map(line),
  ].join('\n');
}

function counted({ failures }: Polls): string {
  const kinds = [...new Set(failures)];
  return kinds
    .map((kind) => `${failures.filter((failure) => failure === kind).length} x ${kind}`)
    .join(', ');
}

function megabytes(bytes: number): string {
  return String(Math.round(bytes / 2 ** 20));
}
