import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { breaks, record, type Recorded } from '../testing/recorded-messages.js';
import * as contracts from './index.js';

type Parts = Record<string, z.ZodType>;

/** All messages between processes, which can be of different releases. */
const messages: Record<string, Parts> = Object.fromEntries([
  ...Object.values(contracts)
    .filter((value) => value !== null && typeof value === 'object' && 'pattern' in value)
    .map(({ pattern, request, reply }) => [pattern, { request, reply }] as [string, Parts]),
  [
    'queue.deletion',
    { job: contracts.deletionQueue.job, erasure: contracts.deletionQueue.erasure },
  ],
  ['events', { entry: contracts.eventStream.entry }],
  ['failure', { failure: contracts.failureSchema }],
]);

const folder = fileURLToPath(new URL('../messages', import.meta.url));
const { version } = JSON.parse(
  readFileSync(new URL('../../../package.json', import.meta.url), 'utf8'),
) as {
  version: string;
};
const fileOf = (release: string, name: string) => `${folder}/${release}/${name}.json`;
const read = (file: string) => JSON.parse(readFileSync(file, 'utf8')) as Record<string, Recorded>;
const recordAll = (parts: Parts) =>
  Object.fromEntries(Object.entries(parts).map(([part, of]) => [part, record(of)]));
/** Writes one line for a schema and for each message, so that diffs show whole messages. */
const linesOf = (parts: Record<string, Recorded>) =>
  Object.entries(parts).map(([part, { schema, messages: written, texts }]) => {
    const examples = written.map((message) => `\n${JSON.stringify(message)}`);
    return [
      `"${part}": { "schema": ${JSON.stringify(schema)}`,
      `"messages": [${examples.join()}]`,
      `"texts": ${JSON.stringify(texts)} }`,
    ].join(',\n');
  });

// TEST_RECORD=1 records the messages of this build under its version, unless that is released.
if (process.env.TEST_RECORD) {
  const latest = readFileSync(new URL('../../../.ci/release', import.meta.url), 'utf8');
  if (latest.startsWith(`${version} `))
    throw new Error(
      `${version} is released, and its messages never change: raise the version first ` +
        '(docs/design/release.md, "Raise the version")',
    );
  mkdirSync(`${folder}/${version}`, { recursive: true });
  for (const [name, parts] of Object.entries(messages))
    writeFileSync(fileOf(version, name), `{\n${linesOf(recordAll(parts)).join(',\n')}\n}\n`);
}

const releases = readdirSync(folder);
const recorded = releases.flatMap((release) =>
  readdirSync(`${folder}/${release}`).map((file) => ({
    release,
    name: file.replace(/\.json$/, ''),
  })),
);

it('release is the version of package.json', () => {
  expect(contracts.release).toBe(version);
});

describe('the messages', () => {
  it.each(recorded)('$name: this build and $release understand each other', ({ release, name }) => {
    const problems = Object.entries(read(fileOf(release, name))).flatMap(([part, then]) => {
      const now = messages[name]?.[part];
      return now
        ? breaks(then, now).map((problem) => `${part}: ${problem}`)
        : [`${part}: was removed`];
    });
    expect(
      problems,
      `${name} breaks processes of ${release} (docs/design/teams.md, "A message changes")`,
    ).toEqual([]);
  });

  it.each(Object.keys(messages))('%s is recorded as this version writes and reads it', (name) => {
    const file = fileOf(version, name);
    expect(
      existsSync(file) ? read(file) : undefined,
      `${name} changed: set TEST_RECORD=1 (docs/design/teams.md, "A message changes")`,
    ).toEqual(recordAll(messages[name]!));
  });
});

describe('a change that breaks the other release is reported', () => {
  const then = z.object({
    guid: z.guid(),
    title: z.string().optional(),
    status: z.enum(['PENDING', 'SUCCESS']),
  });
  const status = then.shape.status;

  it.each([
    ['a new required field', then.extend({ url: z.string() }), /this build rejects .*url: /],
    ['a field that becomes optional', then.partial({ guid: true }), /it rejects .*property 'guid'/],
    [
      'a field that becomes required',
      then.required({ title: true }),
      /this build rejects .*title: /,
    ],
    ['a removed field', then.omit({ title: true }), /drops or changes .*title/],
    [
      'a renamed field',
      then.omit({ guid: true }).extend({ id: z.guid() }),
      /this build rejects .*id: /,
    ],
    [
      'a field with another type',
      then.extend({ title: z.int().optional() }),
      /this build rejects .*title: /,
    ],
    [
      'a field with a stricter rule',
      then.extend({ title: z.string().min(1).optional() }),
      /this build rejects .*title: /,
    ],
    [
      'a new value',
      then.extend({ status: z.enum([...status.options, 'FAILURE']) }),
      /it rejects .*status must be equal/,
    ],
    [
      'a removed value',
      then.extend({ status: status.exclude(['PENDING']) }),
      /this build rejects .*status: /,
    ],
  ])('%s', (_change, now, problem) => {
    expect(breaks(record(then), now).join('\n')).toMatch(problem);
  });

  it.each([
    ['that is a reply', (of: z.ZodType) => contracts.jsonOf(of)],
    [
      'that is a field of a reply',
      (of: z.ZodType) => z.object({ more: z.boolean(), items: contracts.jsonOf(of) }),
    ],
    [
      'that is a field of one variant of a reply',
      (of: z.ZodType) =>
        z.discriminatedUnion('is', [
          z.object({ is: z.literal(false) }),
          z.object({ is: z.literal(true), items: contracts.jsonOf(of) }),
        ]),
    ],
  ])('in a text %s as well', (_where, reply) => {
    const release = record(reply(then));
    expect(breaks(release, reply(then))).toEqual([]);
    expect(breaks(release, reply(then.omit({ title: true }))).join('\n')).toMatch(
      /drops or changes/,
    );
  });

  it('a value that becomes a JSON text', () => {
    expect(breaks(record(then), contracts.jsonOf(then)).join('\n')).toBe(
      'sent as JSON text: (all); by that release: nothing',
    );
  });

  it('a new optional field is not reported', () => {
    expect(breaks(record(then), then.extend({ url: z.string().optional() }))).toEqual([]);
  });
});
