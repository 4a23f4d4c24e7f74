import { describe, expect, it } from 'vitest';
import { callProgram } from '#testing';
import { podcastSync, readCommandLine } from './podcast-sync.js';

const id = '0d3b5a52-6a3e-5a0c-9a9e-6c1d7c6c2c11';

async function inputOf(line: string): Promise<unknown> {
  let input: unknown;
  await callProgram(
    async (args, io) => {
      const read = await readCommandLine(args, io);
      if (typeof read === 'number') return read;
      ({ input } = read);
      return 0;
    },
    line.split(' '),
    {},
  );
  return input;
}

const started = { replicas: 1, port: 3000, host: '127.0.0.1' };
const pending = { verb: 'list', status: 'PENDING', limit: 50, json: false };
const everybody = { shard: { index: 0, of: 1 } };
const ann = { from: new URL('https://cloud.example/sub/'), user: 'ann', login: 'ann' };

describe('parses a command line:', () => {
  it.each<[string, object]>([
    ['start', started],
    ['start --replicas 2 --port=0', { ...started, replicas: 2, port: 0 }],
    ['start --public-url https://p.example/', { ...started, publicUrl: 'https://p.example' }],
    ['start --feeds off', { ...started, feeds: 'off' }],
    ['token ann --expires 12h --scope s', { user: 'ann', expires: '12h', scope: 's' }],
    ['accounts list', { verb: 'list' }],
    ['accounts list --json', { verb: 'list', json: true }],
    ['accounts create ann', { verb: 'create', name: 'ann' }],
    ['accounts create ann', { verb: 'create', name: 'ann' }],
    ['accounts invite', { verb: 'invite' }],
    ['accounts first-link', { verb: 'first-link' }],
    ['accounts reset ann', { verb: 'reset', name: 'ann' }],
    ['accounts disable ann', { verb: 'disable', name: 'ann' }],
    ['accounts enable ann', { verb: 'enable', name: 'ann' }],
    ['accounts appoint ann', { verb: 'appoint', name: 'ann' }],
    ['accounts dismiss ann', { verb: 'dismiss', name: 'ann' }],
    ['accounts erase ann', { verb: 'erase', name: 'ann' }],
    ['app-password ann', { verb: 'app-password', name: 'ann', label: 'podcast-sync app-password' }],
    ['app-password ann --label phone', { verb: 'app-password', name: 'ann', label: 'phone' }],
    ['load a b --parallel 4', { files: ['a', 'b'], parallel: 4 }],
    ['load a --refused r --progress p', { files: ['a'], parallel: 2, refused: 'r', progress: 'p' }],
    ['load -', { files: ['-'], parallel: 2 }],
    ['dump', everybody],
    ['dump --out a.ndjson.gz', { ...everybody, out: 'a.ndjson.gz' }],
    ['dump --users some.ndjson', { ...everybody, users: 'some.ndjson' }],
    ['dump --shard 3/16', { shard: { index: 2, of: 16 } }],
    ['copy-users --users group.ndjson', { users: 'group.ndjson', replace: false }],
    ['copy-users --all --replace', { replace: true }],
    ['import --from https://cloud.example/sub --user ann', ann],
    [
      'import --from http://a.example --user ann --login bob --insecure',
      { from: new URL('http://a.example/'), user: 'ann', login: 'bob' },
    ],
    [`erase --user ${id}`, { user: { id } }],
    [`erase --user=${id.toUpperCase()}`, { user: { id } }],
    [
      'erase --issuer https://id.example --subject 1234',
      { user: { issuer: 'https://id.example', subject: '1234' } },
    ],
    ['erase --subject=-1 --issuer i', { user: { issuer: 'i', subject: '-1' } }],
    ['erase --users group.ndjson', { file: 'group.ndjson' }],
    ['deletions list', pending],
    ['deletions list --pending', pending],
    [
      'deletions list --failed --limit 7 --json',
      { ...pending, status: 'FAILURE', limit: 7, json: true },
    ],
    ['deletions retry 12', { verb: 'retry', deletionId: 12 }],
    ['deletions fail 12', { verb: 'fail', deletionId: 12 }],
    ['deletions fail 12 --as ann', { verb: 'fail', deletionId: 12, operator: 'ann' }],
    ['keys rotate --now', { now: true }],
    ['secrets folder', { directory: 'folder' }],
    ['secrets folder --rotate', { directory: 'folder', rotation: 'gently' }],
    ['secrets folder --rotate-now', { directory: 'folder', rotation: 'now' }],
  ])('%s', async (line, input) => expect(await inputOf(line)).toEqual(input));
});

describe('rejects a command line with exit code 2 and without effect:', () => {
  it.each([
    ['start --replicas 0', '--replicas'],
    ['start --port -1', '--port'],
    ['start --account-port 3002', '--account-port'],
    ['start --public-url https://pods.example/path', '--public-url'],
    ['start --public-url pods.example', '--public-url'],
    ['start --public-url https://pods.example/path', '--public-url'],
    ['start --port 65536', '--port'],
    ['start --port http', '--port'],
    ['start --host=', '--host'],
    ['start --data=', '--data'],
    ['start more', 'too many arguments'],
    ['token', 'USER'],
    ['token ann ben', 'too many arguments'],
    ['token ann --expires soon', 'with s, m, h or d'],
    ['accounts remove ann', "unknown command 'remove'"],
    ['accounts toString', "unknown command 'toString'"],
    ['accounts reset ann --label phone', "unknown option '--label'"],
    ['accounts list ann', 'too many arguments'],
    ['app-password --label phone', 'NAME'],
    ['login --api pods', '--api'],
    ['load a --parallel 0', '--parallel'],
    ['load a --parallel 33', '--parallel'],
    ['load a --parallel x', '--parallel'],
    ['load a b --refused r', 'for one FILE'],
    ['load a b --progress p', 'for one FILE'],
    ['load - --progress p', 'the standard input'],
    ['dump --shard 0/4', 'with I from 1 to N'],
    ['dump --shard 5/4', 'with I from 1 to N'],
    ['dump --shard 1', 'with I from 1 to N'],
    ['dump --shard 1/2 --users a', '--users'],
    ['dump a.ndjson', 'too many arguments'],
    ['copy-users', 'use exactly one of'],
    ['copy-users --all --users group.ndjson', 'use exactly one of'],
    ['import --from https://a.example', '--user'],
    ['import --from a.example --user ann', '--from'],
    ['import --from ftp://a.example --user ann', '--from'],
    ['import --from http://a.example --user ann', '--insecure'],
    ['import --from https://ann:secret@a.example --user ann', 'visible to others'],
    ['import --from https://a.example --user ann --password secret', "unknown option '--password'"],
    ['erase', 'use exactly one of'],
    [`erase --user ${id} --users group.ndjson`, 'use exactly one of'],
    [`erase --user ${id} --subject 1234`, 'use exactly one of'],
    ['erase --users group.ndjson --issuer i --subject 1', 'use exactly one of'],
    ['erase --issuer https://id.example', 'use --issuer and --subject together'],
    ['erase --subject 1234', 'use --issuer and --subject together'],
    ['erase --issuer= --subject 1234', 'use --issuer and --subject together'],
    ['erase --user ann', '--user needs a UUID'],
    ['erase --user=', '--user needs a UUID'],
    ['erase --user', '--user'],
    [`erase ${id}`, 'too many arguments'],
    [`erase --user ${id} ann`, 'too many arguments'],
    ['erase --everybody', "unknown option '--everybody'"],
    ['deletions list 1', 'too many arguments'],
    ['deletions list --pending --failed', '--pending'],
    ['deletions list --limit 0', '--limit'],
    ['deletions list --limit 10001', '--limit'],
    ['deletions retry', 'ID'],
    ['deletions retry 1 2', 'too many arguments'],
    ['deletions retry x', 'a whole number'],
    ['deletions retry 1e3', 'a whole number'],
    ['deletions fail 9007199254740992', 'a whole number'],
    ['deletions retry 1 --json', "unknown option '--json'"],
    ['deletions list --as ann', "unknown option '--as'"],
    ['keys delete', "unknown command 'delete'"],
    ['keys list --now', "unknown option '--now'"],
    ['secrets', 'DIRECTORY'],
    ['secrets folder --rotate --rotate-now', '--rotate'],
  ])('%s', async (line, problem) => {
    const { code, stdout, stderr } = await callProgram(podcastSync, line.split(' '), {});
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr.split('\nSee: ')[0]).toContain(problem);
  });
});
