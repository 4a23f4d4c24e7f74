import { deviceTypes, Failure, isDeviceId } from '#contracts';

/** A supported type of device. `tablet`, which clients can send, is stored as `mobile`. */
type DeviceType = (typeof deviceTypes)[number];

/** Maximum characters of a device's caption; longer captions are cut. */
const maxCaptionLength = 100;

/** Checks the device id in a path or query. @throws Failure `invalid` for an invalid id. */
export function parseDeviceId(text: string): string {
  if (!isDeviceId(text)) throw new Failure('invalid');
  return text;
}

/** Parses caption and type of a device, if they were sent. @throws Failure `invalid`. */
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
  const shortCaption = [...caption.replace(/[\p{Cc}\p{Surrogate}]/gu, ' ').trim()]
    .slice(0, maxCaptionLength)
    .join('');
  if (shortCaption === '') throw new Failure('invalid');
  return shortCaption;
}

function parseType(type: unknown): DeviceType {
  const supportedType = deviceTypes.find((name) => name === type);
  if (supportedType) return supportedType;
  if (type === 'tablet') return 'mobile';
  throw new Failure('invalid');
}
