import { describe, expect, it } from 'vitest';
import { readCommand, UsageError } from './operator.command.js';

describe("the operators' command line for accounts", () => {
  it.each([
    ['list', { verb: 'list', json: false }],
    ['list --json', { verb: 'list', json: true }],
    ['create ann', { verb: 'create', name: 'ann', adopt: false }],
    ['create ann --adopt', { verb: 'create', name: 'ann', adopt: true }],
    ['invite', { verb: 'invite' }],
    ['first-link', { verb: 'first-link' }],
    ['reset ann', { verb: 'reset', name: 'ann' }],
    ['disable ann', { verb: 'disable', name: 'ann' }],
    ['enable ann', { verb: 'enable', name: 'ann' }],
    ['app-password ann', { verb: 'app-password', name: 'ann' }],
    ['app-password ann --label phone', { verb: 'app-password', name: 'ann', label: 'phone' }],
    ['erase ann', { verb: 'erase', name: 'ann' }],
  ])('%s', (line, command) => {
    expect(readCommand(line.split(' '))).toMatchObject(command);
  });

  it.each([
    ['', 'a command is needed'],
    ['remove ann', 'there is no command remove'],
    ['toString', 'there is no command toString'],
    ['create', 'create takes exactly one NAME'],
    ['erase ann ben', 'erase takes exactly one NAME'],
    ['app-password --label phone', 'app-password takes exactly one NAME'],
    ['reset ann --label phone', 'reset knows no --label'],
    ['list ann', 'list takes no NAME'],
    ['erase ann --adopt', 'erase knows no --adopt'],
  ])('"%s" is not understood: %s', (line, problem) => {
    expect(() => readCommand(line.split(' ').filter(Boolean))).toThrow(new UsageError(problem));
  });
});
