import { AnswerEntity } from './answer.entity.js';
import { DeletionEntity } from './deletion.entity.js';
import { EpisodeEntity } from './episode.entity.js';
import { ErasureEntity } from './erasure.entity.js';
import { FeedEntity, FetchEntity, ImageEntity, LaneEntity, PreviewEntity } from './feed.entity.js';
import { FeedUrlEntity } from './feed-url.entity.js';
import { FormerGuidEntity } from './former-guid.entity.js';
import { GuidEntity } from './guid.entity.js';
import { ReaderEntity, ReaderSessionEntity } from './reader.entity.js';
import { RequestEntity } from './request.entity.js';
import { StateEntity } from './state.entity.js';
import { SubscriptionEntity } from './subscription.entity.js';
import { SubscriptionTotalEntity } from './subscription-total.entity.js';
import { SyncIdEntity } from './sync-id.entity.js';
import { TotalEntity } from './total.entity.js';
import { UserClockEntity } from './user-clock.entity.js';
import { AccountEntity } from './account.entity.js';
import { RecoveryCodeEntity } from './recovery-code.entity.js';
import { SessionEntity } from './session.entity.js';
import { LinkEntity } from './link.entity.js';
import { NoticeEntity } from './notice.entity.js';
import { CredentialEntity } from './credential.entity.js';
import { GpodderSessionEntity } from './gpodder-session.entity.js';
import { DeviceEntity } from './device.entity.js';
import { SettingEntity } from './setting.entity.js';
import { LoginEntity } from './login.entity.js';
import { ClientEntity } from './client.entity.js';
import { OidcEntity } from './oidc.entity.js';

export const entities = [
  AccountEntity,
  RecoveryCodeEntity,
  SessionEntity,
  LinkEntity,
  NoticeEntity,
  CredentialEntity,
  GpodderSessionEntity,
  DeviceEntity,
  SettingEntity,
  LoginEntity,
  ClientEntity,
  OidcEntity,
  AnswerEntity,
  DeletionEntity,
  EpisodeEntity,
  ErasureEntity,
  FeedEntity,
  FeedUrlEntity,
  FetchEntity,
  ImageEntity,
  LaneEntity,
  PreviewEntity,
  FormerGuidEntity,
  GuidEntity,
  ReaderEntity,
  ReaderSessionEntity,
  RequestEntity,
  StateEntity,
  SubscriptionEntity,
  SubscriptionTotalEntity,
  SyncIdEntity,
  TotalEntity,
  UserClockEntity,
];

export {
  AccountEntity,
  RecoveryCodeEntity,
  SessionEntity,
  LinkEntity,
  NoticeEntity,
  CredentialEntity,
  LoginEntity,
  ClientEntity,
  OidcEntity,
};
