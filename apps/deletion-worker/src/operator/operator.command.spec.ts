import { describe, expect, it } from 'vitest';
import { type OperatorCommand, readCommand, UsageError } from './operator.command.js';

const pending = { verb: 'list', status: 'PENDING', limit: 50, json: false } as const;

describe("the operators' command line", () => {
  it.each<[string, OperatorCommand]>([
    ['list', pending],
    ['list --pending', pending],
    ['list --failed --limit 7 --json', { verb: 'list', status: 'FAILURE', limit: 7, json: true }],
    ['retry 12', { verb: 'retry', deletionId: 12 }],
    ['fail 12', { verb: 'fail', deletionId: 12, operator: undefined }],
    ['fail 12 --as ann', { verb: 'fail', deletionId: 12, operator: 'ann' }],
  ])('understands %s', (line, command) => expect(readCommand(line.split(' '))).toEqual(command));

  it.each([
    ['', 'a command is needed'],
    ['remove 1', 'there is no command remove'],
    ['list 1', 'list takes no ID'],
    ['list --pending --failed', 'either --pending or --failed'],
    ['list --limit 0', '--limit is a whole number'],
    ['list --limit 10001', '--limit is a whole number'],
    ['retry', 'retry takes exactly one ID'],
    ['retry 1 2', 'retry takes exactly one ID'],
    ['retry x', 'ID is a whole number'],
    ['retry 1e3', 'ID is a whole number'],
    ['fail 9007199254740992', 'ID is a whole number'],
    ['retry 1 --json', 'retry knows no --json'],
    ['list --as ann', 'list knows no --as'],
    ['list --all', '--all'],
  ])('refuses "%s": %s', (line, problem) => {
    const args = line.split(' ').filter(Boolean);
    expect(() => readCommand(args)).toThrow(UsageError);
    expect(() => readCommand(args)).toThrow(problem);
  });
});
