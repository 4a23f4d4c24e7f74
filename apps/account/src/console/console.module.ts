import { Module } from '@nestjs/common';
import { IssuerModule } from '../issuer/issuer.module.js';
import { PeopleModule } from '../people/people.module.js';
import { ConsoleTokens } from './console.tokens.js';
import { TokenController } from './token.controller.js';

/** The console's part of this app: its tokens. Its files are served by console.files.ts, its program is apps/console. */
@Module({
  imports: [PeopleModule, IssuerModule],
  controllers: [TokenController],
  providers: [ConsoleTokens],
})
export class ConsoleModule {}
