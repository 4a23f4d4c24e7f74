// The child process that decodes pictures for Thumbnailer. It receives the bytes of a picture and
// replies with a thumbnail, or without one if it rejects the picture. Pictures come from untrusted
// servers. Therefore the process has no credentials, decodes in WebAssembly, and Thumbnailer kills
// it if it is slow.

/** Maximum WebAssembly memory in bytes. The library allocates all of it when it starts. */
const maxMemoryBytes = 256 * 2 ** 20;
/** Maximum number of pixels of a picture. Podcast directories ask for 3,000 x 3,000. */
const maxPixels = 4_096 * 4_096;
const thumbnailSide = 256;
const webpQuality = 75;

const { Memory } = WebAssembly;
/** Replaces the library's maximum of 2 GB. A picture that needs more memory fails. */
WebAssembly.Memory = class extends Memory {
  constructor(descriptor: WebAssembly.MemoryDescriptor) {
    super({ ...descriptor, maximum: maxMemoryBytes / 65_536 });
  }
};

const { default: openVips } = await import('wasm-vips');
const vips = await openVips({ dynamicLibraries: [], print: () => {}, printErr: () => {} });
vips.concurrency(1);
vips.Cache.max(0);

/** Returns a WebP image of 256 x 256 pixels. @throws Error for too many pixels or a broken file. */
function createThumbnail(bytes: Uint8Array): Uint8Array {
  // newFromBuffer reads only the header, so large pictures are rejected before they are decoded.
  // Formats other than JPEG, PNG and WebP have no loader, or the parent process rejects them.
  const picture = vips.Image.newFromBuffer(bytes, '', {
    access: 'sequential',
    fail_on: 'truncated',
  });
  try {
    if (picture.width * picture.height > maxPixels) throw new Error('too many pixels');
    const square = picture.thumbnailImage(thumbnailSide, { height: thumbnailSide, crop: 'centre' });
    try {
      return square.writeToBuffer('.webp', { Q: webpQuality, keep: 'none' });
    } finally {
      square.delete();
    }
  } finally {
    picture.delete();
  }
}

process.on('message', (bytes: Uint8Array) => {
  let thumbnail: Uint8Array | undefined;
  try {
    thumbnail = createThumbnail(bytes);
  } catch {
    // A reply without a thumbnail rejects the picture.
  }
  process.send?.({ thumbnail });
});
process.on('disconnect', () => process.exit());
