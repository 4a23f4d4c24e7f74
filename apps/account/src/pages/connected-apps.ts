import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { countFeeds, Failure } from '#contracts';
import { StreamClient } from '#transport';
import { AppPasswords } from '../credentials/app-passwords.js';
import { Grants } from '../issuer/grants.js';

/** Timeout in milliseconds for counting a user's podcasts. After it, pages omit the number. */
const maxCountMs = 1_000;

/** App with the time at which its app password or its refresh token was last used. */
export interface SyncedApp {
  readonly name: string;
  readonly lastSyncAt: Date;
}

/** Finds an app that has just connected, and counts the user's podcasts. */
@Injectable()
export class ConnectedApps {
  constructor(
    private readonly appPasswords: AppPasswords,
    private readonly grants: Grants,
    private readonly client: StreamClient,
  ) {}

  /**
   * Returns an app that has connected since `since`; undefined if no app has connected.
   *
   * @param since time at which the person opened the steps. Older app passwords and grants do not
   *   count.
   * @param credentialId app password of these steps. If set, only its use counts.
   */
  async findSyncedApp(
    accountId: string,
    since: Date,
    credentialId?: string,
  ): Promise<SyncedApp | undefined> {
    for (const { id, label, createdAt, lastUsedAt } of await this.appPasswords.list(accountId))
      if (lastUsedAt && (credentialId === undefined ? createdAt >= since : id === credentialId))
        return { name: label, lastSyncAt: lastUsedAt };
    if (credentialId !== undefined) return undefined;
    const grants = await this.grants.listApps(accountId);
    const grant = grants.find((candidate) => candidate.since >= since);
    return grant && { name: grant.client.name, lastSyncAt: grant.lastUsedAt };
  }

  /**
   * Returns the number of subscribed podcasts; undefined if the service fails or does not reply
   * within {@link maxCountMs}.
   */
  async countPodcasts(userId: string): Promise<number | undefined> {
    try {
      const options = { requestId: randomUUID(), timeLimitMs: maxCountMs };
      return (await this.client.call(countFeeds, { userId }, options)).subscribed;
    } catch (error) {
      if (error instanceof Failure) return undefined;
      throw error;
    }
  }
}
