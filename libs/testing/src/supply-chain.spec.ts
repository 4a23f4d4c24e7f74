import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { repository } from './launched-system.js';

interface Package {
  version?: string;
  hasInstallScript?: boolean;
  integrity?: string;
  link?: boolean;
}

const read = (name: string) => readFileSync(join(repository, name), 'utf8');
const manifest = JSON.parse(read('package.json')) as Record<string, Record<string, unknown>>;
const lock = JSON.parse(read('package-lock.json')) as { packages: Record<string, Package> };
const installed = Object.entries(lock.packages).filter(([path]) => path !== '');

describe('the dependencies', () => {
  it.each(['dependencies', 'devDependencies', 'optionalDependencies'])(
    '%s are exact versions',
    (kind) => {
      const versions = Object.values(manifest[kind] ?? {});
      expect(versions.length).toBeGreaterThan(0);
      expect(
        versions.filter((version) => !/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(String(version))),
      ).toEqual([]);
    },
  );

  it('is locked by its content', () => {
    const known = installed.filter(([, { integrity }]) => integrity?.startsWith('sha512-'));
    expect(known.length).toBeGreaterThan(100);
    expect(installed.filter((entry) => !known.includes(entry)).map(([path]) => path)).toEqual([]);
  });

  it('run no install script, and all with one are listed', () => {
    expect(read('.npmrc')).toMatch(/^ignore-scripts=true$/m);
    const scripted = installed
      .filter(([, { hasInstallScript }]) => hasInstallScript)
      .map(([path]) => path);
    const names = new Set(scripted.map((path) => path.replace(/^.*node_modules\//, '')));
    expect(Object.entries(manifest['allowScripts'] ?? {})).toEqual(
      [...names].sort().map((name) => [name, false]),
    );
  });
});
