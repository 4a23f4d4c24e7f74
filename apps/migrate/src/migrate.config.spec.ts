import { describe, expect, it } from 'vitest';
import { ConfigurationError, loadConfig } from '#runtime';
import { migrateConfig } from './migrate.config.js';

const DATABASE_URL = 'postgres://owner:secret@127.0.0.1/podcast_sync';

function problems(environment: NodeJS.ProcessEnv): readonly string[] {
  try {
    loadConfig(migrateConfig, environment);
    return [];
  } catch (error) {
    return (error as ConfigurationError).problems;
  }
}

describe('the configuration of migrate', () => {
  it("needs only the owner's URL", () => {
    expect(problems({})).toEqual(['DATABASE_URL: is required']);
    expect(loadConfig(migrateConfig, { DATABASE_URL })).toMatchObject({
      DATABASE_URL,
      MIGRATE_GROUPS: 'on',
    });
  });

  it('names all problems together', () => {
    const wrong = {
      DATABASE_URL: 'mysql://owner@host/x',
      MIGRATE_GROUPS: 'maybe',
      LOG_LEVEL: 'loud',
      SUBSCRIPTION_DATABASE_URL: 'nowhere',
      EPISODE_DATABASE_URL: 'http://host',
      DELETION_DATABASE_URL_FILE: '/does/not/exist',
      DUMP_DATABASE_URL: 'nowhere',
    };
    expect(
      problems(wrong)
        .map((problem) => problem.split(':')[0])
        .sort(),
    ).toEqual(Object.keys(wrong).sort());
  });

  it('shows no values of variables, which can be secrets', () => {
    expect(problems({ DATABASE_URL: 'mysql://owner:secret@host/x' }).join()).not.toContain(
      'secret',
    );
  });
});
