import { readdirSync, readFileSync } from 'node:fs';
import { Ajv } from 'ajv';
import { expect, test } from 'vitest';
import { profiles, readVectors } from './src/vector.js';

const read = (path: string) =>
  JSON.parse(readFileSync(new URL(path, import.meta.url), 'utf8')) as object;
const vectors = readVectors(profiles);

test.each(profiles)('the vectors of %s have the form of the schema', (profile) => {
  const validate = new Ajv({ strict: true, strictRequired: false }).compile(
    read('vector.schema.json'),
  );
  validate(read(`vectors/${profile}.json`));
  expect(validate.errors).toBeNull();
});

test('each vector has a unique id, and the rules of Podcast Sync are in a profile', () => {
  const ids = vectors.map(({ id }) => id);
  expect(ids).toEqual([...new Set(ids)]);
  for (const { profile, level } of vectors) expect(level === 'ours').toBe(profile === 'additions');
});

test('the texts for the authors of the draft name vectors that exist', () => {
  const texts = new URL('../docs/design/upstream/', import.meta.url);
  const named = readdirSync(texts).flatMap((name) => [
    ...readFileSync(new URL(name, texts), 'utf8').matchAll(/`([a-z]+(?:-[a-z\d]+)+)`/g),
  ]);
  const names = new Set<string>([...vectors.map(({ id }) => id), ...profiles]);
  expect(named.length).toBeGreaterThan(10);
  expect(named.map(([, name = '']) => name).filter((name) => !names.has(name))).toEqual([]);
});
