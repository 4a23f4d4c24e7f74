import { Failure } from '#contracts';

/** Why a credential is not accepted, for the operator; outside all of them are the same 401. */
export type RefusalReason =
  | 'missing'
  | 'malformed'
  | 'issuer'
  | 'algorithm'
  | 'key'
  | 'signature'
  | 'audience'
  | 'expired'
  | 'not_yet_valid'
  | 'claims'
  | 'scope';

/** A credential that is missing or can't be accepted. */
export class Refusal extends Failure {
  constructor(
    readonly reason: RefusalReason,
    options?: ErrorOptions,
  ) {
    super('unauthorized', undefined, options);
    this.name = 'Refusal';
  }
}
