import { readFileSync } from 'node:fs';
import { type Values, expectAnswer, fill } from './recording-values.js';
import { basic, exchange } from './http-exchange.js';

/** One request of an app and the answer that the app needs. Strings contain templates. */
interface Exchange {
  /** Method and path. */
  readonly request: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  /** By default 200. Other fields are not compared. */
  readonly answer?: { status?: number; headers?: Record<string, string>; body?: unknown };
}

/** An exchange with the values of its templates, or values for later steps of the app. */
type Step = { readonly send: string } | { readonly set: Values };

/** Requests and expected answers of an app; a file in the folder `recordings`. */
interface Recording {
  readonly app: string;
  /** The sources of the app that the recording follows. */
  readonly source: string;
  /** Headers of each request. `Cookie` is omitted before the first cookie. */
  readonly headers: Readonly<Record<string, string>>;
  /** Values at the app's first start. */
  readonly values?: Values;
  /** JSON that several exchanges share. */
  readonly parts?: Readonly<Record<string, unknown>>;
  readonly exchanges: Readonly<Record<string, Exchange>>;
  /** Sequences of exchanges by their name, such as one sync. */
  readonly sequences: Readonly<Record<string, readonly Step[]>>;
}

/** Server and user of an app, and its clock in milliseconds, by default the machine's. */
interface RecordedAppSettings {
  readonly server: string;
  readonly user?: string;
  readonly password?: string;
  readonly clock?: () => number;
}

/** Replays the recorded requests of an app, and compares the answers. */
export class RecordedApp {
  /** State of the app between syncs, such as timestamps of answers. */
  readonly state: Values;

  private constructor(
    private readonly recording: Recording,
    private readonly settings: RecordedAppSettings,
  ) {
    const { user = '', password = '' } = settings;
    this.state = {
      ...recording.values,
      user,
      password,
      basic: basic(user, password).slice('Basic '.length),
    };
  }

  /** Reads a recording. @param file a file in the folder `recordings`, without extension. */
  static open(file: string, settings: RecordedAppSettings): RecordedApp {
    const path = new URL(`../recordings/${file}.json`, import.meta.url);
    return new RecordedApp(JSON.parse(readFileSync(path, 'utf8')) as Recording, settings);
  }

  /** Deletes the session cookie, which apps keep only in memory. */
  restart(): void {
    delete this.state['cookie'];
  }

  /** Replays a sequence. @throws Error for an answer that the app does not accept. */
  async play(name: string, values: Values = {}): Promise<void> {
    const steps = this.recording.sequences[name];
    if (!steps) throw new Error(`${this.recording.app} has no sequence "${name}"`);
    for (const step of steps) {
      const available = { ...this.state, ...this.time(), parts: this.recording.parts, ...values };
      if ('set' in step) Object.assign(this.state, fill(step.set, available));
      else await this.send(step.send, { ...available, ...step }, name);
    }
  }

  private async send(name: string, values: Values, sequence: string): Promise<void> {
    const recorded = this.recording.exchanges[name];
    if (!recorded) throw new Error(`${this.recording.app} has no exchange "${name}"`);
    const [method = '', target = ''] = (fill(recorded.request, values) as string).split(' ');
    const templates = Object.entries({ ...this.recording.headers, ...recorded.headers });
    const headers = templates
      .map(([header, template]) => [
        header,
        template.includes('{{cookie}}') && !values['cookie'] ? '' : template,
      ])
      .filter(([, template]) => template !== '')
      .map(([header, template]) => [header, String(fill(template, values))]);
    const body = recorded.body === undefined ? undefined : fill(recorded.body, values);
    const answer = await exchange({
      method,
      url: URL.canParse(target) ? target : this.settings.server + target,
      headers: Object.fromEntries(headers) as Record<string, string>,
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    if (answer.session !== undefined) this.state['cookie'] = answer.session;
    const expected = { status: 200, ...recorded.answer };
    const actualBody =
      typeof (expected.body ?? '') === 'string' ? answer.text : parsed(answer.text);
    const where = `${this.recording.app}, "${sequence}", ${method} ${target}`;
    Object.assign(
      this.state,
      expectAnswer(expected, { ...answer, body: actualBody }, values, where),
    );
  }

  private time(): Values {
    const now = this.settings.clock?.() ?? Date.now();
    const iso = new Date(now).toISOString();
    return { now: Math.floor(now / 1_000), time: iso.slice(0, 19), iso };
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
