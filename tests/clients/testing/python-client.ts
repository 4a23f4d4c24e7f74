import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface, type Interface } from 'node:readline';
import { fileURLToPath } from 'node:url';

/** Debian's Python. Another Python in PATH does not have Debian's packages. */
const python = '/usr/bin/python3';

/** Maximum characters of a trace in an error; its end has the cause. */
const traceLength = 600;

/** Result of a client's call. */
interface Outcome {
  readonly result?: unknown;
  /** Name of the raised exception. */
  readonly raised?: string;
  readonly trace?: string;
}

/** A Python client with its state in a process of its own. It runs one call at a time. */
export class PythonClient {
  private errors = '';
  private readonly lines: Interface;
  private readonly waiting: ((line: string) => void)[] = [];

  private constructor(private readonly child: ChildProcess) {
    this.lines = createInterface({ input: child.stdout as NodeJS.ReadableStream });
    this.lines.on('line', (line) => this.waiting.shift()?.(line));
    child.stderr?.setEncoding('utf8').on('data', (text: string) => (this.errors += text));
    child.once('close', () => {
      for (const resolve of this.waiting)
        resolve(JSON.stringify({ raised: 'Ended', trace: this.errors }));
    });
  }

  /** Starts a client. @param driver a program next to this file. @param args its arguments. */
  static start(
    driver: string,
    args: object,
    environment: Readonly<Record<string, string>> = {},
  ): PythonClient {
    const program = fileURLToPath(new URL(driver, import.meta.url));
    const env = {
      PATH: process.env['PATH'],
      LANG: 'C.UTF-8',
      PYTHONDONTWRITEBYTECODE: '1',
      ...environment,
    };
    return new PythonClient(spawn(python, [program, JSON.stringify(args)], { env, stdio: 'pipe' }));
  }

  /** Calls a method. @throws Error if the client raises an exception. */
  async call<Result = unknown>(name: string, ...args: readonly unknown[]): Promise<Result> {
    const { result, raised, trace } = await this.exchange(name, args);
    if (raised !== undefined)
      throw new Error(`${name} raised ${raised}\n${trace?.slice(-traceLength)}`);
    return result as Result;
  }

  /** Calls a method. @returns the name of the raised exception; undefined for none. */
  async raises(name: string, ...args: readonly unknown[]): Promise<string | undefined> {
    return (await this.exchange(name, args)).raised;
  }

  async close(): Promise<void> {
    if (this.child.exitCode !== null) return;
    const closed = new Promise((resolve) => this.child.once('close', resolve));
    this.child.stdin?.end();
    await closed;
  }

  private exchange(name: string, args: readonly unknown[]): Promise<Outcome> {
    const answer = new Promise<string>((resolve) => this.waiting.push(resolve));
    this.child.stdin?.write(`${JSON.stringify([name, args])}\n`);
    return answer.then((line) => JSON.parse(line) as Outcome);
  }
}
