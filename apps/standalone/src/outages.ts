/** Milliseconds after which an outage is shown. Most restarts of a server take less time. */
const defaultShownAfterMs = 3_000;

interface Outage {
  /** `performance.now()` at the first report. */
  readonly startMs: number;
  /** Number of reports of a start without a report of the end, by name of the app. */
  readonly openReports: Map<string, number>;
  reason: string | undefined;
  isShown: boolean;
  timer: NodeJS.Timeout;
}

/**
 * Shows outages of servers that apps report in their logs (`outage`). Invariants:
 * - An outage is one line with its cause and one line at its end, however many apps report it.
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

  /** Records that a component of an app lost its connection to a server. */
  recordStart(app: string, server: string, reason: string | undefined): void {
    const outage = this.currentOutages.get(server) ?? this.addOutage(server);
    outage.openReports.set(app, (outage.openReports.get(app) ?? 0) + 1);
    outage.reason ??= reason;
  }

  /** Records that a component of an app is connected to a server again. */
  recordEnd(app: string, server: string): void {
    const reportCount = (this.currentOutages.get(server)?.openReports.get(app) ?? 0) - 1;
    this.setOpenReports(app, server, reportCount);
  }

  /** Drops the reports of an app whose process has ended. */
  dropApp(app: string): void {
    for (const server of this.currentOutages.keys()) this.setOpenReports(app, server, 0);
  }

  private setOpenReports(app: string, server: string, reportCount: number): void {
    const outage = this.currentOutages.get(server);
    if (!outage) return;
    if (reportCount > 0) outage.openReports.set(app, reportCount);
    else outage.openReports.delete(app);
    if (outage.openReports.size > 0) return;
    this.currentOutages.delete(server);
    clearTimeout(outage.timer);
    const seconds = Math.round((performance.now() - outage.startMs) / 1_000);
    if (outage.isShown) this.printLine(`${server} available again after ${seconds} s`);
  }

  private addOutage(server: string): Outage {
    const timer = setTimeout(() => this.showStart(server), this.shownAfterMs).unref();
    const startMs = performance.now();
    const outage = { startMs, openReports: new Map(), reason: undefined, isShown: false, timer };
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
