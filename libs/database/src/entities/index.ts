import { AnswerEntity } from './answer.entity.js';
import { DeletionEntity } from './deletion.entity.js';
import { EpisodeEntity } from './episode.entity.js';
import { FeedUrlEntity } from './feed-url.entity.js';
import { FormerGuidEntity } from './former-guid.entity.js';
import { GuidEntity } from './guid.entity.js';
import { RequestEntity } from './request.entity.js';
import { StateEntity } from './state.entity.js';
import { SubscriptionEntity } from './subscription.entity.js';
import { SyncIdEntity } from './sync-id.entity.js';
import { TotalEntity } from './total.entity.js';
import { UserClockEntity } from './user-clock.entity.js';

export const entities = [
  AnswerEntity,
  DeletionEntity,
  EpisodeEntity,
  FeedUrlEntity,
  FormerGuidEntity,
  GuidEntity,
  RequestEntity,
  StateEntity,
  SubscriptionEntity,
  SyncIdEntity,
  TotalEntity,
  UserClockEntity,
];
