import { Module } from '@nestjs/common';
import { PeopleModule } from '../people/people.module.js';
import { Devices } from './devices.js';
import { GpodderController } from './gpodder.controller.js';
import { GpodderSessions } from './gpodder-sessions.js';
import { Settings } from './settings.js';
import { AccountTransactions } from './account-transactions.js';

/** Sessions, devices and settings of the gpodder API. */
@Module({
  imports: [PeopleModule],
  controllers: [GpodderController],
  providers: [AccountTransactions, GpodderSessions, Devices, Settings],
  exports: [Devices],
})
export class GpodderModule {}
