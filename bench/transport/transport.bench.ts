import { readFileSync } from 'node:fs';
import { cpus, platform, release, totalmem } from 'node:os';
import { fullPlan, measure, quickPlan } from './bench.plan.js';
import { report } from './bench.report.js';

/**
 * Measures this project's transport beside two that Nest brings along: `npm run bench:transport`, with `-- --quick` for
 * a run that only shows that it works. The table goes to standard output, what happens meanwhile to standard error.
 */

const isQuick = process.argv.includes('--quick');
const { redisVersion, series } = await measure(isQuick ? quickPlan : fullPlan, (line) =>
  process.stderr.write(`${line}\n`),
);
const version = (name: string) =>
  (JSON.parse(readFileSync(`node_modules/${name}/package.json`, 'utf8')) as { version: string }).version;
const machine = `${cpus().length} x ${cpus()[0]?.model ?? 'unknown'}, ${Math.round(totalmem() / 2 ** 30)} GiB, ${platform()} ${release()}`;
const versions = `Node ${process.versions.node}, Redis ${redisVersion}, @nestjs/microservices ${version('@nestjs/microservices')}, ioredis ${version('ioredis')}`;
process.stdout.write(`${new Date().toISOString().slice(0, 10)}, ${machine}\n${versions}\n\n${report(series)}`);
