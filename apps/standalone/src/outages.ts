/** Milliseconds after which an outage is shown. Most restarts of a server take less time. */
const defaultShownAfterMs = 3_000;

interface Outage {
  readonly since: number;
  /** Number of parts of each app that reported the outage and not its end, by name of the app. */
  readonly parts: Map<string, number>;
  reason: string | undefined;
  isShown: boolean;
  timer: NodeJS.Timeout;
}

/**
 * Shows outages of servers that apps report in their logs (`outage`). Invariants:
 * - An outage is one line with its cause and one line at its end, however many parts report it.
 * - A short outage is not shown. While the supervisor restarts the server, no outage is shown:
 *   the supervisor reports the restart.
 */
export class Outages {
  private readonly currentOutages = new Map<string, Outage>();

  /** @param isRestarting returns true while the supervisor restarts a server. */
  constructor(
    private readonly printLine: (line: string) => void,
    private readonly isRestarting: (server: string) => boolean,
    private readonly shownAfterMs = defaultShownAfterMs,
  ) {}

  /** Records that a part of an app lost its connection to a server. */
  recordStart(app: string, server: string, reason: string | undefined): void {
    const outage = this.currentOutages.get(server) ?? this.addOutage(server);
    outage.parts.set(app, (outage.parts.get(app) ?? 0) + 1);
    outage.reason ??= reason;
  }

  /** Records that a part of an app is connected to a server again. */
  recordEnd(app: string, server: string): void {
    const left = (this.currentOutages.get(server)?.parts.get(app) ?? 0) - 1;
    this.setParts(app, server, left);
  }

  /** Drops the parts of an app whose process has ended. */
  dropApp(app: string): void {
    for (const server of this.currentOutages.keys()) this.setParts(app, server, 0);
  }

  private setParts(app: string, server: string, left: number): void {
    const outage = this.currentOutages.get(server);
    if (!outage) return;
    if (left > 0) outage.parts.set(app, left);
    else outage.parts.delete(app);
    if (outage.parts.size > 0) return;
    this.currentOutages.delete(server);
    clearTimeout(outage.timer);
    const seconds = Math.round((performance.now() - outage.since) / 1_000);
    if (outage.isShown) this.printLine(`${server} available again after ${seconds} s`);
  }

  private addOutage(server: string): Outage {
    const timer = setTimeout(() => this.showStart(server), this.shownAfterMs).unref();
    const since = performance.now();
    const outage = { since, parts: new Map(), reason: undefined, isShown: false, timer };
    this.currentOutages.set(server, outage);
    return outage;
  }

  private showStart(server: string): void {
    const outage = this.currentOutages.get(server);
    if (!outage) return;
    if (this.isRestarting(server)) return void outage.timer.refresh();
    outage.isShown = true;
    const reason = (outage.reason ?? 'connection closed').replace(`${server}: `, '');
    this.printLine(`${server} unavailable, requests get 503: ${reason}`);
  }
}
