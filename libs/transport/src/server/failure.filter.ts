import { Catch, type ExceptionFilter } from '@nestjs/common';
import { throwError, type Observable } from 'rxjs';

/** Hands on what a handler threw as it is, so that the transport can tell a failure from a fault. Nest's own filter makes both `Internal server error`. */
@Catch()
export class FailureFilter implements ExceptionFilter {
  catch(thrown: unknown): Observable<never> {
    return throwError(() => thrown);
  }
}
