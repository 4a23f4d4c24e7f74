import { randomUUID } from 'node:crypto';
import { AccountEntity } from '#database/typeorm';
import { getRepositoryToken } from '@nestjs/typeorm';
import { TOTP } from 'otpauth';
import type { Repository } from 'typeorm';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { outcomeOf } from '../../testing/outcome.js';
import { openPeople, type PeopleFixture } from '../../testing/people.fixture.js';
import { Accounts } from './accounts.js';
import { Seal } from './seal.js';
import { Totp } from './totp.js';

const [oldKey, newKey] = [
  'an-old-key-of-tests-of-32-characters',
  'a-new-key-of-tests-of-32-characters',
];

let fixture: PeopleFixture;
beforeAll(async () => void (fixture = await openPeople()));
afterAll(() => fixture.close());

/** Returns the service with another `SECRETS_KEY`. */
const totpWith = (secretsKey: string) =>
  new Totp(
    fixture.app.get<Repository<AccountEntity>>(getRepositoryToken(AccountEntity)),
    new Seal(secretsKey),
    { PUBLIC_URL: 'https://accounts.example' },
  );

async function accountWithTotp(secretsKey: string) {
  const { id } = await fixture.app.get(Accounts).create({ name: `ann-${randomUUID()}` });
  const totp = totpWith(secretsKey);
  const { secret } = await totp.createSecret(id);
  const codeAt = (step: number) =>
    new TOTP({ secret }).generate({ timestamp: Date.now() + step * 30_000 });
  await totp.confirmSecret(id, codeAt(0));
  // The code of this step can then be used again.
  await fixture.owner.query('UPDATE account.accounts SET totp_step = NULL WHERE id = $1', [id]);
  return { id, codeAt };
}

it('needs no replaced key after a code was accepted with the new one', async () => {
  const { id, codeAt } = await accountWithTotp(oldKey);
  await totpWith(`${newKey},${oldKey}`).checkCode(id, codeAt(0));
  expect(await outcomeOf(totpWith(newKey).checkCode(id, codeAt(1)))).toBe('none');
});

it('is unusable if no code was accepted before its key was removed', async () => {
  const { id, codeAt } = await accountWithTotp(oldKey);
  expect(await outcomeOf(totpWith(newKey).checkCode(id, codeAt(1)))).toBe('code');
});

it('has no secret after it was switched off', async () => {
  const { id, codeAt } = await accountWithTotp(oldKey);
  await totpWith(oldKey).switchOff(id, codeAt(0));
  const { rows } = await fixture.owner.query(
    'SELECT totp_secret, totp_confirmed_at FROM account.accounts WHERE id = $1',
    [id],
  );
  expect(rows).toEqual([{ totp_secret: null, totp_confirmed_at: null }]);
});
