import { Controller } from '@nestjs/common';
import {
  changeSettings,
  checkSession,
  endSession,
  findAccount,
  listDevices,
  type ReplyOf,
  type RequestOf,
  saveDevices,
} from '#contracts';
import { Handle } from '#transport';
import { Accounts } from '../people/accounts.js';
import { Devices } from './devices.js';
import { GpodderSessions } from './gpodder-sessions.js';
import { Settings } from './settings.js';

/** Handles the messages that `apps/gpodder` sends. */
@Controller()
export class GpodderController {
  constructor(
    private readonly sessions: GpodderSessions,
    private readonly devices: Devices,
    private readonly settings: Settings,
    private readonly accounts: Accounts,
  ) {}

  @Handle(checkSession)
  async checkSession({ sessionId, credentialId }: RequestOf<typeof checkSession>) {
    return { credential: await this.sessions.findAndRecordUse(sessionId, credentialId) };
  }

  @Handle(endSession)
  async endSession({ sessionId, credentialId }: RequestOf<typeof endSession>) {
    await this.sessions.endSession(sessionId, credentialId);
    return {};
  }

  @Handle(listDevices)
  async listDevices({ userId }: RequestOf<typeof listDevices>) {
    const devices = await this.devices.list(userId);
    return { devices: devices.map(({ id, caption, type }) => ({ id, caption, type })) };
  }

  @Handle(saveDevices)
  async saveDevices({ userId, devices, credentialId }: RequestOf<typeof saveDevices>) {
    await this.devices.save(userId, devices, credentialId);
    return {};
  }

  @Handle(changeSettings)
  async changeSettings(
    request: RequestOf<typeof changeSettings>,
  ): Promise<ReplyOf<typeof changeSettings>> {
    return { settings: await this.settings.changeScope(request) };
  }

  @Handle(findAccount)
  async findAccount({ name }: RequestOf<typeof findAccount>) {
    return { userId: (await this.accounts.findByName(name))?.id ?? null };
  }
}
