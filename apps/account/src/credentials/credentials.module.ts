import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { CredentialEntity, LoginEntity } from '#database/typeorm';
import { PeopleModule } from '../people/people.module.js';
import { CredentialsController } from './credentials.controller.js';
import { AppPasswords } from './app-passwords.js';
import { LoginFlows } from './login-flows.js';
import { LoginPollController } from './login-poll.controller.js';

/** Provides app passwords, and Nextcloud's login flow, by which apps get one. */
@Module({
  imports: [TypeOrmModule.forFeature([CredentialEntity, LoginEntity]), PeopleModule],
  controllers: [CredentialsController, LoginPollController],
  providers: [AppPasswords, LoginFlows],
  exports: [AppPasswords, LoginFlows],
})
export class CredentialsModule {}
