import { deviceTypes, Failure } from '#contracts';

/** Letters of any script, digits, and what the ids of all clients are made of; letter case counts. */
const form = /^[\p{L}\p{N}_.-]{1,64}$/u;

/** The types that are known, and `tablet`, which some clients do not. */
export type DeviceType = (typeof deviceTypes)[number];

/** The longest caption, in characters; of a longer one that much is kept. */
const captionLength = 100;

/** Whether a text can be the id of a device. */
export function isDeviceId(text: unknown): text is string {
  return typeof text === 'string' && form.test(text) && text.length <= 64;
}

/** The id of a device in a path or query. @throws Failure `invalid` */
export function deviceIdOf(text: string): string {
  if (!isDeviceId(text)) throw new Failure('invalid');
  return text;
}

/** What a client says of a device: only what it sends. @throws Failure `invalid` for an empty caption or an unknown type. */
export function describedDevice({ caption, type }: Record<string, unknown>): { caption?: string; type?: DeviceType } {
  return {
    ...(caption !== undefined && { caption: captionOf(caption) }),
    ...(type !== undefined && { type: typeOf(type) }),
  };
}

function captionOf(caption: unknown): string {
  if (typeof caption !== 'string') throw new Failure('invalid');
  const kept = [...caption.replace(/[\p{Cc}\p{Surrogate}]/gu, ' ').trim()].slice(0, captionLength).join('');
  if (kept === '') throw new Failure('invalid');
  return kept;
}

function typeOf(type: unknown): DeviceType {
  const known = deviceTypes.find((one) => one === type);
  if (known) return known;
  if (type === 'tablet') return 'mobile';
  throw new Failure('invalid');
}
