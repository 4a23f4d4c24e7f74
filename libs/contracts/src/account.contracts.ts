import { z } from 'zod';
import { settingLimits } from './limits.js';
import { rpc } from './rpc.js';

/** A SHA-256 in base64url: what crosses in the place of a secret. */
const hashSchema = z.string().regex(/^[\w-]{43}$/);

/** What a credential may do, as in the claim `scope` of a token. */
export const scopes = ['read:subscriptions', 'write:subscriptions'] as const;

/**
 * Whose an app password is, and what it may do. `null` where there is none with this hash, or it has expired, was revoked,
 * or its account is disabled.
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
        /** The name by which the user signs in. */
        name: z.string(),
        scopes: z.array(z.string()),
        /** RFC 3339; absent where it does not expire. */
        expiresAt: z.string().optional(),
      })
      .nullable(),
  }),
});

/**
 * Revokes an app password by its hash or its id (Nextcloud, DELETE /ocs/v2.php/core/apppassword): a session knows the id
 * alone. Twice is once. Fails with `invalid` where it names none.
 */
export const revokeCredential = rpc({
  pattern: 'account.revoke_credential',
  write: true,
  secret: true,
  request: z.object({ hash: hashSchema.optional(), credentialId: z.guid().optional() }),
  reply: z.object({ revoked: z.boolean() }),
});

/**
 * Begins a Nextcloud login flow (v2). Whoever asks makes both tokens and passes on their hashes; it appends the login
 * token to `login`, where a browser goes, and the app polls `endpoint`.
 */
export const beginLogin = rpc({
  pattern: 'account.begin_login',
  write: true,
  secret: true,
  request: z.object({
    pollHash: hashSchema,
    loginHash: hashSchema,
    /** Names the app on the page and its app password later. */
    userAgent: z.string().max(1_000),
    /** Of the app that asks, for the page and for limits. */
    address: z.string().max(64),
    /** Where the app syncs: the `server` of its answer. */
    server: z.url(),
  }),
  reply: z.union([
    z.object({ login: z.url(), endpoint: z.url() }),
    /** Too many of the network wait: seconds until one of them ends by itself. */
    z.object({ retryAfter: z.int().min(1) }),
  ]),
});

/**
 * Whose a session of the gpodder API is. It is kept from the first time that it is asked for, at most 50 of an app password,
 * of which the longest unused goes. `null` where it was ended, was not used for 365 days, or its app password does not count
 * any more. Whoever asks has proven before that the session was begun here, with this app password.
 */
export const checkSession = rpc({
  pattern: 'account.check_session',
  write: true,
  secret: true,
  request: z.object({ sessionId: z.guid(), credentialId: z.guid() }),
  reply: checkCredential.reply,
});

/** Ends a session of the gpodder API (logout) for good; those who remember it hear of it. Twice is once. */
export const endSession = rpc({
  pattern: 'account.end_session',
  write: true,
  secret: true,
  request: z.object({ sessionId: z.guid(), credentialId: z.guid() }),
  reply: z.object({}),
});

/** The types of devices that the gpodder API knows. */
export const deviceTypes = ['desktop', 'laptop', 'mobile', 'server', 'other'] as const;

/** The devices of a user in the order of their ids: all that clients of the gpodder API have named, up to 100. */
export const listDevices = rpc({
  pattern: 'account.list_devices',
  write: false,
  request: z.object({ userId: z.guid() }),
  reply: z.object({
    devices: z.array(z.object({ id: z.string(), caption: z.string(), type: z.enum(deviceTypes) })),
  }),
});

/**
 * Makes devices known, and describes them anew where something is said of them; of one that is named twice the later word
 * counts. Beyond 100 the longest unused goes, with its settings; those without a caption and settings first. Fails with `invalid` where an id is none.
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
          /** A hundred characters are kept, each of which may take two units of UTF-16. */
          caption: z.string().max(200).optional(),
          type: z.enum(deviceTypes).optional(),
        }),
      )
      .max(100),
  }),
  reply: z.object({}),
});

/** What settings belong to: a user as a whole, a device, a subscription by its guid, an episode by its sync_id. */
const settingScopeSchema = z.discriminatedUnion('of', [
  z.object({ of: z.literal('account') }),
  z.object({ of: z.literal('device'), id: z.string().max(64) }),
  z.object({ of: z.literal('podcast'), id: z.guid() }),
  z.object({ of: z.literal('episode'), id: z.guid() }),
]);

/** Whatever JSON clients keep. It was parsed just before, and what it is made of is not looked at once more. */
const settings = z.record(z.string(), z.unknown());

/**
 * Changes settings, which are opaque JSON, and reads those of the scope afterwards; with nothing to change it only reads.
 * What is set comes before what is removed.
 */
export const changeSettings = rpc({
  pattern: 'account.change_settings',
  write: true,
  request: z.object({
    userId: z.guid(),
    scope: settingScopeSchema,
    set: settings.refine((set) => Object.keys(set).length <= settingLimits.keys),
    remove: z.array(z.string()).max(settingLimits.keys),
  }),
  /** Fails with `not_found` for a device that there is not, `invalid` beyond a limit; nothing is applied then. */
  reply: z.object({ settings }),
});

/** The account that a name belongs to in any letter case, for operators' commands. */
export const findAccount = rpc({
  pattern: 'account.find',
  write: false,
  request: z.object({ name: z.string().max(64) }),
  reply: z.object({ userId: z.guid().nullable() }),
});
