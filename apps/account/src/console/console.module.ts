import { Module } from '@nestjs/common';
import { IssuerModule } from '../issuer/issuer.module.js';
import { PeopleModule } from '../people/people.module.js';
import { ConsoleTokens } from './console.tokens.js';
import { TokenController } from './token.controller.js';

/** Provides the tokens of the console. console.files.ts serves the program of apps/console. */
@Module({
  imports: [PeopleModule, IssuerModule],
  controllers: [TokenController],
  providers: [ConsoleTokens],
})
export class ConsoleModule {}
