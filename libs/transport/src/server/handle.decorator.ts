import { applyDecorators, UseFilters } from '@nestjs/common';
import { MessagePattern } from '@nestjs/microservices';
import type { ReplyOf, RequestOf, Rpc } from '#contracts';
import type { CallContext } from './call.context.js';
import { FailureFilter } from './failure.filter.js';

/** A method that answers a contract: `@Payload()` first, `@Ctx()` second where it is wanted. */
type Handler<C extends Rpc> = (request: RequestOf<C>, context: CallContext) => ReplyOf<C> | Promise<ReplyOf<C>>;

/**
 * Makes a controller's method the handler of a contract: Nest's `@MessagePattern` with the contract attached, by which
 * the server validates payload and reply. A method of another type does not compile.
 */
export function Handle<C extends Rpc>(contract: C) {
  const decorate = applyDecorators(MessagePattern(contract.pattern, { contract }), UseFilters(FailureFilter));
  return <Method extends Handler<C>>(
    target: object,
    name: string | symbol,
    descriptor: TypedPropertyDescriptor<Method>,
  ): void => decorate(target, name, descriptor);
}
