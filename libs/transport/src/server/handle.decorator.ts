import { applyDecorators, Catch, UseFilters, type ExceptionFilter } from '@nestjs/common';
import { MessagePattern } from '@nestjs/microservices';
import { throwError, type Observable } from 'rxjs';
import type { ReplyOf, RequestOf, Rpc } from '#contracts';
import type { CallContext } from './call.context.js';

/** A method that answers a contract: `@Payload()` first, `@Ctx()` second where it is wanted. */
type Handler<C extends Rpc> = (request: RequestOf<C>, context: CallContext) => ReplyOf<C> | Promise<ReplyOf<C>>;

/**
 * Hands on what a handler threw as it is, so that the transport can tell a failure from a fault: Nest's own filter
 * makes `Internal server error` of both.
 */
@Catch()
class ThrownFilter implements ExceptionFilter {
  catch(thrown: unknown): Observable<never> {
    return throwError(() => thrown);
  }
}

/**
 * Makes a controller's method the handler of a contract: Nest's `@MessagePattern` with the contract attached, by which
 * the server validates payload and reply. A method of another type does not compile.
 */
export function Handle<C extends Rpc>(contract: C) {
  const decorate = applyDecorators(MessagePattern(contract.pattern, { contract }), UseFilters(ThrownFilter));
  return <Method extends Handler<C>>(
    target: object,
    name: string | symbol,
    descriptor: TypedPropertyDescriptor<Method>,
  ): void => decorate(target, name, descriptor);
}
