import { AccountEntity } from './account.entity.js';
import { ClientEntity } from './client.entity.js';
import { CredentialEntity } from './credential.entity.js';
import { LinkEntity } from './link.entity.js';
import { LoginEntity } from './login.entity.js';
import { NoticeEntity } from './notice.entity.js';
import { OidcEntity } from './oidc.entity.js';
import { PasskeyEntity } from './passkey.entity.js';
import { RecoveryCodeEntity } from './recovery-code.entity.js';
import { SessionEntity } from './session.entity.js';

/** The tables that the account app uses through repositories; services use statements (ADR 60). */
export const entities = [
  AccountEntity,
  ClientEntity,
  CredentialEntity,
  LinkEntity,
  LoginEntity,
  NoticeEntity,
  OidcEntity,
  PasskeyEntity,
  RecoveryCodeEntity,
  SessionEntity,
];

export {
  AccountEntity,
  ClientEntity,
  CredentialEntity,
  LinkEntity,
  LoginEntity,
  NoticeEntity,
  OidcEntity,
  PasskeyEntity,
  RecoveryCodeEntity,
  SessionEntity,
};
