import { applyDecorators, Controller, UseGuards } from '@nestjs/common';
import { PersonGuard } from './person.guard.js';

/** A controller that answers with pages. */
export const PageController = () => applyDecorators(Controller(), UseGuards(PersonGuard));
