import { Failure } from '#contracts';

/** Why a credential is not accepted, for the operator; clients get the same 401 for all of them. */
export type FailureReason =
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
export class AuthenticationFailure extends Failure {
  constructor(
    readonly reason: FailureReason,
    options?: ErrorOptions,
  ) {
    super('unauthorized', undefined, options);
    this.name = 'AuthenticationFailure';
  }
}
