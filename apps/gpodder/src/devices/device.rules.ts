import { deviceTypes, Failure, isDeviceId } from '#contracts';

/** A supported type of device. Clients can also send `tablet`, which becomes `mobile`. */
type DeviceType = (typeof deviceTypes)[number];

/** Maximum characters of a device's caption; longer captions are cut. */
const maxCaptionLength = 100;

/** Checks the device id in a path or query. @throws Failure `invalid` for an invalid id. */
export function parseDeviceId(text: string): string {
  if (!isDeviceId(text)) throw new Failure('invalid');
  return text;
}

/** Checks the properties of a device in a body. @throws Failure `invalid` for an invalid one. */
export function parseDevice({ caption, type }: Record<string, unknown>): {
  caption?: string;
  type?: DeviceType;
} {
  return {
    ...(caption !== undefined && { caption: parseCaption(caption) }),
    ...(type !== undefined && { type: parseType(type) }),
  };
}

function parseCaption(caption: unknown): string {
  if (typeof caption !== 'string') throw new Failure('invalid');
  const cut = [...caption.replace(/[\p{Cc}\p{Surrogate}]/gu, ' ').trim()]
    .slice(0, maxCaptionLength)
    .join('');
  if (cut === '') throw new Failure('invalid');
  return cut;
}

function parseType(type: unknown): DeviceType {
  const supported = deviceTypes.find((name) => name === type);
  if (supported) return supported;
  if (type === 'tablet') return 'mobile';
  throw new Failure('invalid');
}
