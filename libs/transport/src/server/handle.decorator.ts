import { applyDecorators, Catch, UseFilters, type ExceptionFilter } from '@nestjs/common';
import { Ctx, MessagePattern, Payload } from '@nestjs/microservices';
import type { ReplyOf, RequestOf, Rpc } from '#contracts';
import type { CallContext } from './stream.server.js';

/** A method that answers a contract: the payload first, then the context where it is wanted. */
type Handler<C extends Rpc> = (request: RequestOf<C>, context: CallContext) => ReplyOf<C> | Promise<ReplyOf<C>>;

/**
 * Passes on what a handler threw as it is, so that the transport can tell a failure from a fault: Nest's own filter
 * makes `Internal server error` of both.
 */
@Catch()
class ThrownFilter implements ExceptionFilter {
  catch(thrown: unknown): never {
    throw thrown;
  }
}

/**
 * Makes a method the handler of a contract: Nest's `@MessagePattern` with the contract attached, by which the server
 * validates the payload, and `@Payload()` and `@Ctx()` at its parameters. A method of another type does not compile.
 * Its class is a `@Controller()` under `controllers` of a module, where Nest looks for handlers.
 */
export function Handle<C extends Rpc>(contract: C) {
  const decorate = applyDecorators(MessagePattern(contract.pattern, { contract }), UseFilters(ThrownFilter));
  return <Method extends Handler<C>>(
    target: object,
    name: string | symbol,
    descriptor: TypedPropertyDescriptor<Method>,
  ): void => {
    Payload()(target, name, 0);
    Ctx()(target, name, 1);
    decorate(target, name, descriptor);
  };
}
