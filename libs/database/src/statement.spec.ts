import { expect, it } from 'vitest';
import { statement, statements } from './statement.js';

it('a name belongs to one statement, because a connection would run the first for both', () => {
  const one = statement('test.of_one_text', 'SELECT 1');
  expect(statement('test.of_one_text', 'SELECT 1')).toEqual(one);
  expect(() => statement('test.of_one_text', 'SELECT 2')).toThrow(
    'two statements are named test.of_one_text',
  );
  expect(statements.get('test.of_one_text')).toEqual(one);
});
