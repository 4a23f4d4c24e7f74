#!/usr/bin/env node
import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { runVectors } from './conformance-run.js';
import { htmlReport, isFailure, junitReport, terminalReport } from './report.js';
import { ServerClient, ServerError, type Target } from './server-client.js';
import { profiles, readVectors } from './vector.js';

const usage = `Checks a server of the Open Podcast API.

  podcast-sync-conformance --base URL --token TOKEN [options]

  --base URL       base URL of the API, without /subscriptions: https://sync.example/v1
  --token TOKEN    bearer token of a test user (or the environment variable TOKEN)
  --token2 TOKEN   token of a second user, for vectors with two users (or TOKEN2)
  --profile NAME   ${profiles.join(', ')};
                   repeatable, all except additions by default
  --vector ID      run only this vector, of any profile; repeatable
  --report FILE    write a report: JUnit XML (.xml) or a page (.html); repeatable
  --timeout SEC    time limit of the run in seconds, 300 by default
  --help           show this text

Exit codes:
  0  the server passes
  1  a vector of level "must" or "ours" failed, or a subscription of the run was not deleted
  2  the server or an argument cannot be used
`;

const options = {
  base: { type: 'string' },
  token: { type: 'string' },
  token2: { type: 'string' },
  profile: { type: 'string', multiple: true },
  vector: { type: 'string', multiple: true },
  report: { type: 'string', multiple: true },
  timeout: { type: 'string', default: '300' },
  help: { type: 'boolean' },
} as const;

/** Error for a missing or invalid argument. The message says which one. */
class UsageError extends Error {}

type OptionValues = ReturnType<typeof parseArgs<{ options: typeof options }>>['values'];

/** Returns the options of the command line. @throws UsageError for an unknown option. */
function parseOptions(): OptionValues {
  try {
    return parseArgs({ options }).values;
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}

/** Returns the server, the vectors and the files of the reports. @throws UsageError */
function checkOptions(values: OptionValues) {
  const base = values.base?.replace(/\/$/, '') ?? '';
  const selected = values.profile ?? profiles.filter((profile) => profile !== 'additions');
  const unknown = selected.find((name) => !(profiles as readonly string[]).includes(name));
  const token = values.token ?? process.env['TOKEN'] ?? '';
  const token2 = values.token2 ?? process.env['TOKEN2'];
  const seconds = Number(values.timeout);
  if (!/^https?:/.test(base) || !URL.canParse(base))
    throw new UsageError('--base: give the http or https URL of the API');
  if (token === '')
    throw new UsageError('--token: give a bearer token of a test user, or set TOKEN');
  if (unknown !== undefined)
    throw new UsageError(`--profile: unknown profile ${unknown}: use ${profiles.join(', ')}`);
  if (!(seconds > 0)) throw new UsageError('--timeout: give a number of seconds above 0');
  const reports = values.report ?? [];
  if (!reports.every((file) => /\.(xml|html)$/.test(file)))
    throw new UsageError('--report: give a file whose name ends with .xml or .html');
  const vectors = readVectors(values.vector ? profiles : selected).filter(
    ({ id }) => values.vector?.includes(id) ?? true,
  );
  const missing = values.vector?.find((id) => !vectors.some((vector) => vector.id === id));
  if (missing !== undefined)
    throw new UsageError(`--vector: unknown vector ${missing}: use an id of vectors/*.json`);
  const tokens = token2 === undefined ? [token] : [token, token2];
  const target: Target = { base, tokens, deadline: Date.now() + seconds * 1_000 };
  return { target, vectors, reports };
}

/** Checks the base URL and the tokens before the first vector. @throws ServerError */
async function checkTarget(target: Target): Promise<void> {
  const client = new ServerClient(target);
  for (const user of [1, 2] as const) {
    if (!client.hasUser(user)) continue;
    const path = '/subscriptions?per_page=1';
    const { status } = await client.send({ method: 'GET', path, user });
    if (status !== 200)
      throw new ServerError(
        `GET ${target.base}${path} returned status ${status}: ` +
          `check --base and --token${user === 2 ? '2' : ''}`,
      );
  }
}

async function main(): Promise<number> {
  const values = parseOptions();
  if (values.help) {
    process.stdout.write(usage);
    return 0;
  }
  const { target, vectors, reports } = checkOptions(values);
  await checkTarget(target);
  const outcome = await runVectors(target, vectors);
  for (const file of reports)
    writeFileSync(
      file,
      file.endsWith('.xml') ? junitReport(outcome) : htmlReport(outcome, target.base),
    );
  process.stdout.write(terminalReport(outcome));
  return outcome.remaining > 0 || outcome.results.some(isFailure) ? 1 : 0;
}

try {
  process.exitCode = await main();
} catch (error) {
  if (!(error instanceof UsageError) && !(error instanceof ServerError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 2;
}
