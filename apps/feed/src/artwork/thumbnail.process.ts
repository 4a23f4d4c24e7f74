// The process that decodes pictures. It receives bytes and sends a message with a thumbnail, or
// without one if it rejects the picture. Pictures come from untrusted servers. Therefore the
// process has no credentials, decodes in WebAssembly, and is killed by Thumbnailer if it is slow.

/** Maximum WebAssembly memory in bytes. The library also allocates it at its start. */
const maxMemoryBytes = 256 * 2 ** 20;
/** Maximum number of pixels: directories ask for 3,000 x 3,000. */
const maxPixels = 4_096 * 4_096;
const side = 256;
const quality = 75;

const { Memory } = WebAssembly;
/** The library declares 2 GB. A picture that needs more than the limit fails. */
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
function thumbnailOf(bytes: Uint8Array): Uint8Array {
  // Reads only the header here. Other formats have no loader, or the parent process rejects them.
  const picture = vips.Image.newFromBuffer(bytes, '', {
    access: 'sequential',
    fail_on: 'truncated',
  });
  try {
    if (picture.width * picture.height > maxPixels) throw new Error('too many pixels');
    const square = picture.thumbnailImage(side, { height: side, crop: 'centre' });
    try {
      return square.writeToBuffer('.webp', { Q: quality, keep: 'none' });
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
    thumbnail = thumbnailOf(bytes);
  } catch {
    // The picture is rejected: the reply has no thumbnail.
  }
  process.send?.({ thumbnail });
});
process.on('disconnect', () => process.exit());
