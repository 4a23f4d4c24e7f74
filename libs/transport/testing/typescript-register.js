import { register } from 'node:module';

register('../../../apps/typescript-hooks.mjs', import.meta.url);

// A machine whose wall clock is wrong, by as many milliseconds.
const skewMs = Number(process.env.CLOCK_SKEW_MS ?? 0);
if (skewMs !== 0) {
  const RightDate = Date;
  globalThis.Date = class extends RightDate {
    constructor(...of) {
      super(...(of.length > 0 ? of : [RightDate.now() + skewMs]));
    }
    static now() {
      return RightDate.now() + skewMs;
    }
  };
}
