import { Module } from '@nestjs/common';
import { PeopleModule } from '../people/people.module.js';
import { Devices } from './devices.js';
import { GpodderController } from './gpodder.controller.js';
import { GpodderSessions } from './sessions.js';
import { Settings } from './settings.js';
import { Writes } from './writes.js';

/** What is kept for clients of the gpodder API: their sessions, devices and settings. */
@Module({
  imports: [PeopleModule],
  controllers: [GpodderController],
  providers: [Writes, GpodderSessions, Devices, Settings],
  exports: [Devices],
})
export class GpodderModule {}
