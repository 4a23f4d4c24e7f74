import { applyDecorators, Catch, UseFilters, type ExceptionFilter } from '@nestjs/common';
import { Ctx, MessagePattern, Payload } from '@nestjs/microservices';
import type { ReplyOf, RequestOf, Rpc } from '#contracts';
import type { CallContext } from './stream-server.js';

/** A method that handles the requests of a contract; it can omit the second parameter. */
type Handler<C extends Rpc> = (
  request: RequestOf<C>,
  context: CallContext,
) => ReplyOf<C> | Promise<ReplyOf<C>>;

/** Rethrows errors unchanged. Nest's default filter would turn a Failure into a generic error. */
@Catch()
class RethrowFilter implements ExceptionFilter {
  catch(thrown: unknown): never {
    throw thrown;
  }
}

/**
 * Makes a method the handler of a contract. It applies Nest's `@MessagePattern` with the contract,
 * for the validation of payloads, and `@Payload()` and `@Ctx()` to the parameters. A method whose
 * types differ from the contract does not compile. The class of the method must be a
 * `@Controller()` in the `controllers` of a module.
 */
export function Handle<C extends Rpc>(contract: C) {
  const decorate = applyDecorators(
    MessagePattern(contract.pattern, { contract }),
    UseFilters(RethrowFilter),
  );
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
