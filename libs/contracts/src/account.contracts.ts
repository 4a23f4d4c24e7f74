import { z } from 'zod';
import { settingLimits } from './limits.js';
import { rpc } from './rpc.js';

/** SHA-256 of a secret in base64url. Messages contain the hash instead of the secret. */
const hashSchema = z.string().regex(/^[\w-]{43}$/);

/** Scopes of app passwords and tokens, named as in the claim `scope`. */
export const scopes = ['read:subscriptions', 'write:subscriptions'] as const;
export type Scope = (typeof scopes)[number];

/**
 * Returns the user and the scopes of an app password; `null` if no app password has this hash, if
 * it expired or was revoked, or if its account is disabled.
 */
export const checkCredential = rpc({
  pattern: 'account.check_credential',
  write: false,
  secret: true,
  request: z.object({ hash: hashSchema }),
  reply: z.object({
    credential: z
      .object({
        credentialId: z.guid(),
        userId: z.guid(),
        name: z.string(),
        scopes: z.array(z.string()),
        /** Expiry (RFC 3339); absent if the app password never expires. */
        expiresAt: z.string().optional(),
      })
      .nullable(),
  }),
});

/**
 * Revokes an app password (Nextcloud, DELETE /ocs/v2.php/core/apppassword). Has no effect on a
 * revoked app password.
 */
export const revokeCredential = rpc({
  pattern: 'account.revoke_credential',
  write: true,
  request: z.object({ credentialId: z.guid() }),
  reply: z.object({ revoked: z.boolean() }),
});

/**
 * Starts a Nextcloud login flow (v2). The caller creates a poll token and a login token, and sends
 * their hashes. Then it appends the login token to the URL `login`, for the browser. The app polls
 * the URL `endpoint`.
 */
export const beginLogin = rpc({
  pattern: 'account.begin_login',
  write: true,
  secret: true,
  request: z.object({
    pollHash: hashSchema,
    loginHash: hashSchema,
    /** `User-Agent` of the app, shown on the login page and stored as the app password's name. */
    userAgent: z.string().max(1_000),
    /** IP address of the app, for the page and for rate limits. */
    address: z.string().max(64),
    /** Base URL that the app uses after the login. */
    server: z.url(),
  }),
  reply: z.object({ login: z.url(), endpoint: z.url() }),
});

/**
 * Returns the user of a session of the gpodder API; `null` if the session ended or was unused for
 * 365 days, or if its app password is no longer valid.
 *
 * The first check stores the session. An app password has up to 50 stored sessions; beyond that,
 * the longest unused session is deleted. The caller must have verified that this server issued the
 * session for this app password.
 */
export const checkSession = rpc({
  pattern: 'account.check_session',
  write: true,
  secret: true,
  request: z.object({ sessionId: z.guid(), credentialId: z.guid() }),
  reply: checkCredential.reply,
});

/** Ends a gpodder session permanently (logout), also in caches. Has no effect if it has ended. */
export const endSession = rpc({
  pattern: 'account.end_session',
  write: true,
  secret: true,
  request: z.object({ sessionId: z.guid(), credentialId: z.guid() }),
  reply: z.object({}),
});

/** The types of devices in the gpodder API. */
export const deviceTypes = ['desktop', 'laptop', 'mobile', 'server', 'other'] as const;

/** Matches device ids: as in the gpodder API, but with letters and digits of all scripts. */
const deviceIdPattern = /^(?:(?!\p{Default_Ignorable_Code_Point})[\p{L}\p{M}\p{N}_.-])+$/u;

/**
 * Returns true for a valid device id: at most 64 UTF-16 units, case-sensitive
 * (https://gpoddernet.readthedocs.io/en/latest/api/reference/devices.html).
 */
export function isDeviceId(text: unknown): text is string {
  return typeof text === 'string' && text.length <= 64 && deviceIdPattern.test(text);
}

/** Lists the devices that a user's gpodder clients have registered, at most 100, ordered by id. */
export const listDevices = rpc({
  pattern: 'account.list_devices',
  write: false,
  request: z.object({ userId: z.guid() }),
  reply: z.object({
    devices: z.array(z.object({ id: z.string(), caption: z.string(), type: z.enum(deviceTypes) })),
  }),
});

/**
 * Creates and updates devices; of entries with the same id, the last counts. If a user
 * then has more than 100 devices, deletes devices with their settings: first those without caption
 * and settings, then those that were unused for longest. Fails with `invalid` for an invalid id.
 */
export const saveDevices = rpc({
  pattern: 'account.save_devices',
  write: true,
  request: z.object({
    userId: z.guid(),
    devices: z
      .array(
        z.object({
          id: z.string().max(64),
          /** Maximum in UTF-16 units: 100 characters are stored, each of up to two units. */
          caption: z.string().max(200).optional(),
          type: z.enum(deviceTypes).optional(),
        }),
      )
      .max(100),
    /** Id of the app password with which the client made the request. */
    credentialId: z.guid().optional(),
  }),
  reply: z.object({}),
});

/** The owner of settings: the user, a device, a subscription (guid) or an episode (sync_id). */
const settingScopeSchema = z.discriminatedUnion('of', [
  z.object({ of: z.literal('account') }),
  z.object({ of: z.literal('device'), id: z.string().max(64) }),
  z.object({ of: z.literal('podcast'), id: z.guid() }),
  z.object({ of: z.literal('episode'), id: z.guid() }),
]);

/** Settings by key. Their values are not validated, because they come from parsed JSON. */
const settingsSchema = z.record(z.string(), z.unknown());

/**
 * Sets and removes settings (opaque JSON), in this order. Returns all settings of the scope. Fails
 * without effect: with `not_found` for an unknown device, with `invalid` above a limit.
 */
export const changeSettings = rpc({
  pattern: 'account.change_settings',
  write: true,
  request: z.object({
    userId: z.guid(),
    scope: settingScopeSchema,
    set: settingsSchema.refine((set) => Object.keys(set).length <= settingLimits.keys),
    remove: z.array(z.string()).max(settingLimits.keys),
  }),
  reply: z.object({ settings: settingsSchema }),
});

/** Finds an account by its name in any letter case, for operators; `null` if none has the name. */
export const findAccount = rpc({
  pattern: 'account.find',
  write: false,
  request: z.object({ name: z.string().max(64) }),
  reply: z.object({ userId: z.guid().nullable() }),
});
