import { describe, expect, it } from 'vitest';
import { type EraseCommand, eraseUsage, readEraseCommand } from './erase.command.js';
import { UsageError } from './operator.command.js';

const id = '0d3b5a52-6a3e-5a0c-9a9e-6c1d7c6c2c11';

describe('the command line that erases users', () => {
  it.each<[string, EraseCommand]>([
    [`--user ${id}`, { user: { id } }],
    [`--user=${id.toUpperCase()}`, { user: { id } }],
    ['--issuer https://id.example --subject 1234', { user: { issuer: 'https://id.example', subject: '1234' } }],
    ['--subject=-1 --issuer i', { user: { issuer: 'i', subject: '-1' } }],
    ['--users group.ndjson', { file: 'group.ndjson' }],
  ])('understands %s', (line, command) => expect(readEraseCommand(line.split(' '))).toEqual(command));

  it.each([
    ['', 'who?'],
    [`--user ${id} --users group.ndjson`, 'who?'],
    [`--user ${id} --subject 1234`, 'who?'],
    ['--users group.ndjson --issuer i --subject 1', 'who?'],
    ['--issuer https://id.example', '--issuer and --subject go together'],
    ['--subject 1234', '--issuer and --subject go together'],
    ['--issuer= --subject 1234', '--issuer and --subject go together'],
    ['--user ann', '--user takes a UUID'],
    ['--user=', '--user takes a UUID'],
    ['--user', '--user'],
    [id, id],
    [`--user ${id} ann`, 'ann'],
    ['--everybody', '--everybody'],
  ])('refuses "%s", so that nobody is erased by mistake: %s', (line, problem) => {
    const args = line.split(' ').filter(Boolean);
    expect(() => readEraseCommand(args)).toThrow(UsageError);
    expect(() => readEraseCommand(args)).toThrow(problem);
  });

  it.each(['--help', '-h', `--user ${id} --help`])('answers %s with the usage alone, which names each way', (line) => {
    expect(() => readEraseCommand(line.split(' '))).toThrow(new UsageError());
    for (const way of ['--issuer', '--subject', '--user ', '--users']) expect(eraseUsage).toContain(way);
  });
});
