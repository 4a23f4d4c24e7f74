import { deviceTypes, Failure, isDeviceId } from '#contracts';

/** A supported type. Clients can also send `tablet`, which becomes `mobile`. */
type DeviceType = (typeof deviceTypes)[number];

/** Maximum characters of a caption; longer captions are cut. */
const maxCaptionLength = 100;

/** Returns a device id from a path or query. @throws Failure `invalid` */
export function readDeviceId(text: string): string {
  if (!isDeviceId(text)) throw new Failure('invalid');
  return text;
}

/** Returns the sent properties of a device. @throws Failure `invalid` for invalid ones. */
export function readDevice({ caption, type }: Record<string, unknown>): {
  caption?: string;
  type?: DeviceType;
} {
  return {
    ...(caption !== undefined && { caption: readCaption(caption) }),
    ...(type !== undefined && { type: readType(type) }),
  };
}

function readCaption(caption: unknown): string {
  if (typeof caption !== 'string') throw new Failure('invalid');
  const cut = [...caption.replace(/[\p{Cc}\p{Surrogate}]/gu, ' ').trim()]
    .slice(0, maxCaptionLength)
    .join('');
  if (cut === '') throw new Failure('invalid');
  return cut;
}

function readType(type: unknown): DeviceType {
  const supported = deviceTypes.find((name) => name === type);
  if (supported) return supported;
  if (type === 'tablet') return 'mobile';
  throw new Failure('invalid');
}
