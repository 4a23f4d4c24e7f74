import { afterAll, beforeAll } from 'vitest';
import { bothApisCases } from './both-apis-cases.js';
import { gpodderCases } from './gpodder-cases.js';
import { mygpoclientCases } from './mygpoclient-cases.js';
import { recordedAppsCases } from './recorded-apps-cases.js';
import { ClientsContext } from './testing/clients-context.js';

/** The system for the cases of all clients. Each case has its own users. */
let context: ClientsContext;
beforeAll(async () => {
  context = await ClientsContext.open();
});
afterAll(() => context?.close());

recordedAppsCases(() => context);
bothApisCases(() => context);
mygpoclientCases(() => context);
gpodderCases(() => context);
