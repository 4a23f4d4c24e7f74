import type { Status } from '#contracts';

/** What became of a register: nothing, only its time (which nobody sees), or what is seen. */
export type Settled = { status: Status; change: 'none' | 'time' | 'seen' };

/** A client's clock may be ahead by this much. */
const aheadLimitMs = 24 * 60 * 60 * 1000;

/**
 * Settles what was sent against what stands (docs/interface.md, "States"): later or equal replaces, earlier is ignored.
 * Where either time was given to the minute, both are compared by the minute. A time more than 24 h ahead of the server
 * counts as the request's stamp. What only repeats the value and the printed minute is no change; its later time is
 * kept all the same, so that the order in which writes arrive does not matter.
 */
export function settle(standing: Status | undefined, sent: Status, stamp: string): Settled {
  const now = instantOf(stamp);
  const clamped = sent.at > now && sent.at > ahead(stamp);
  const status = clamped ? { value: sent.value, at: now, minuteForm: false } : sent;
  if (!standing) return { status, change: 'seen' };
  if (clamped && status.value === standing.value) return { status: standing, change: 'none' };
  if (order(status, standing) < 0) return { status: standing, change: 'none' };
  if (status.value !== standing.value || minute(status) !== minute(standing)) return { status, change: 'seen' };
  return status.at > standing.at ? { status, change: 'time' } : { status: standing, change: 'none' };
}

/** Merges the registers of two episodes that are one: the newest wins, the first where they are equally new. */
export function newer(first: Status | undefined, second: Status | undefined): Status | undefined {
  if (!first || !second) return first ?? second;
  return order(second, first) > 0 ? second : first;
}

/** The printed form of a time: to the minute, no zone. */
export function minute(status: Pick<Status, 'at'>): string {
  return status.at.slice(0, 16);
}

function order(a: Status, b: Status): number {
  const byMinute = a.minuteForm || b.minuteForm;
  const [left, right] = byMinute ? [minute(a), minute(b)] : [a.at, b.at];
  if (left === right) return 0;
  return left > right ? 1 : -1;
}

/** A stamp in the form of a client's time. */
function instantOf(stamp: string): string {
  return `${stamp.slice(0, 23)}000Z`;
}

function ahead(stamp: string): string {
  return instantOf(new Date(Date.parse(stamp) + aheadLimitMs).toISOString());
}
