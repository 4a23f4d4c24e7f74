import { deviceTypes, Failure, isDeviceId } from '#contracts';

/** The supported types. Clients can also send `tablet`, which becomes `mobile`. */
export type DeviceType = (typeof deviceTypes)[number];

/** Maximum characters of a caption; longer ones are cut. */
const captionLength = 100;

/** Returns a device id from a path or query. @throws Failure `invalid` */
export function deviceIdOf(text: string): string {
  if (!isDeviceId(text)) throw new Failure('invalid');
  return text;
}

/** Returns the sent properties of a device. @throws Failure `invalid` for invalid ones. */
export function describedDevice({ caption, type }: Record<string, unknown>): {
  caption?: string;
  type?: DeviceType;
} {
  return {
    ...(caption !== undefined && { caption: captionOf(caption) }),
    ...(type !== undefined && { type: typeOf(type) }),
  };
}

function captionOf(caption: unknown): string {
  if (typeof caption !== 'string') throw new Failure('invalid');
  const kept = [...caption.replace(/[\p{Cc}\p{Surrogate}]/gu, ' ').trim()]
    .slice(0, captionLength)
    .join('');
  if (kept === '') throw new Failure('invalid');
  return kept;
}

function typeOf(type: unknown): DeviceType {
  const known = deviceTypes.find((one) => one === type);
  if (known) return known;
  if (type === 'tablet') return 'mobile';
  throw new Failure('invalid');
}
