// The child process that decodes pictures for Thumbnailer. It receives the bytes of a picture and
// replies with `{ thumbnail }`, where `thumbnail` is undefined for a rejected picture. Pictures
// come from untrusted servers. Therefore the process has no credentials and decodes in WebAssembly,
// and Thumbnailer kills a slow process.

/** Maximum WebAssembly memory in bytes. wasm-vips allocates the whole maximum when it starts. */
const maxMemoryBytes = 256 * 2 ** 20;
/**
 * Maximum number of pixels of a picture; a larger one is rejected. Podcast directories ask for
 * 3,000 x 3,000 pixels.
 */
const maxPixels = 4_096 * 4_096;
const thumbnailSidePixels = 256;
const webpQuality = 75;

const { Memory } = WebAssembly;
/**
 * Replaces the maximum of wasm-vips, which is 2 GB. A picture that needs more memory is rejected.
 */
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
function createThumbnail(pictureBytes: Uint8Array): Uint8Array {
  // newFromBuffer reads only the header, so large pictures are rejected before they are decoded.
  // Formats other than JPEG, PNG and WebP have no loader, or the parent process rejects them.
  const picture = vips.Image.newFromBuffer(pictureBytes, '', {
    access: 'sequential',
    fail_on: 'truncated',
  });
  try {
    if (picture.width * picture.height > maxPixels) throw new Error('too many pixels');
    const square = picture.thumbnailImage(thumbnailSidePixels, {
      height: thumbnailSidePixels,
      crop: 'centre',
    });
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
    // The picture is rejected: the reply has no thumbnail.
  }
  process.send?.({ thumbnail });
});
process.on('disconnect', () => process.exit());
