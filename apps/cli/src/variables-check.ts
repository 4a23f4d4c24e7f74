import { ConfigurationError, loadConfig } from '#runtime';
import { z } from 'zod';
import { accountConfig } from '../../account/src/account.config.js';
import { deletionWorkerConfig } from '../../deletion-worker/src/deletion-worker.config.js';
import { episodeConfig } from '../../episode/src/episode.config.js';
import { feedConfig } from '../../feed/src/feed.config.js';
import { gatewayConfig } from '../../gateway/src/gateway.config.js';
import { gpodderConfig } from '../../gpodder/src/gpodder.config.js';
import { subscriptionConfig } from '../../subscription/src/subscription.config.js';

// This program checks the variables that the apps inherit from `npm start`, and prints the problems
// as a JSON array of strings. It is a separate process because it loads the code of all apps.

const configs = [
  subscriptionConfig,
  episodeConfig,
  deletionWorkerConfig,
  feedConfig,
  gatewayConfig,
  gpodderConfig,
  // Omits MAX_BODY_BYTES, because the edge does not pass it to the account app.
  accountConfig.omit({ MAX_BODY_BYTES: true }),
];

const problems = new Set<string>();
for (const { shape } of configs)
  for (const [name, variable] of Object.entries(shape)) {
    // Skips unset variables, because the supervisor sets the required ones.
    if (!process.env[name] && !process.env[`${name}_FILE`]) continue;
    try {
      loadConfig(z.object({ [name]: variable }));
    } catch (error) {
      if (!(error instanceof ConfigurationError)) throw error;
      for (const problem of error.problems) problems.add(problem);
    }
  }
process.stdout.write(JSON.stringify([...problems]));
