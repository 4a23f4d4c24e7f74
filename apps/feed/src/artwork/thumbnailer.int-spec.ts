import { setImmediate } from 'node:timers/promises';
import { afterAll, describe, expect, it } from 'vitest';
import { jpeg, png, webp } from '../../../../libs/fetch/testing/pictures.js';
import { Thumbnailer } from './thumbnailer.js';

const thumbnailer = new Thumbnailer();
afterAll(() => thumbnailer.close());

/** Returns format, width and height of a simple WebP file (RFC 9649, 2.5). */
function facts(bytes: Uint8Array | undefined) {
  const file = Buffer.from(bytes ?? []);
  const at = file.indexOf('VP8 ') + 14;
  return [file.toString('latin1', 8, 12), file.readUInt16LE(at), file.readUInt16LE(at + 2)];
}

describe('a thumbnail', () => {
  it.each([
    ['JPEG', jpeg],
    ['WebP', webp],
    ['PNG', png(600)],
    ['a wide PNG', png(1_200, 30)],
    ['a large PNG', png(4_000)],
  ])('is a square WebP image of %s', async (_, bytes) => {
    expect(facts(await thumbnailer.createThumbnail(bytes))).toEqual(['WEBP', 256, 256]);
  });
});

describe('no thumbnail', () => {
  it.each([
    ['nothing', Buffer.alloc(0)],
    ['SVG', Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>')],
    ['GIF', Buffer.from('R0lGODlhAQABAAAAACwAAAAAAQABAAACAkQBADs=', 'base64')],
    ['HTML', Buffer.from('<!doctype html><title>Not found</title>')],
    ['HTML with the first bytes of a JPEG', Buffer.from('\xff\xd8\xff<html>', 'latin1')],
    ['a cut PNG', png(600).subarray(0, 400)],
    ['a cut JPEG', jpeg.subarray(0, 300)],
    ['a bomb of 196 million pixels', png(14_000)],
    ['a wide bomb', png(200_000, 100)],
  ])('is made of %s, and the next picture has one', async (_, bytes) => {
    const [none, next] = await Promise.all([
      thumbnailer.createThumbnail(bytes),
      thumbnailer.createThumbnail(jpeg),
    ]);
    expect(none).toBeUndefined();
    expect(next).toBeDefined();
  });

  it('is made within its time limit, which ends the process', async () => {
    const hasty = new Thumbnailer({ pictureMs: 1 });
    expect(await hasty.createThumbnail(jpeg)).toBeUndefined();
    expect(await hasty.createThumbnail(jpeg)).toBeUndefined();
  });

  it('is made when the service stops', async () => {
    const stopping = new Thumbnailer();
    const thumbnail = stopping.createThumbnail(png(4_000));
    await setImmediate();
    stopping.close();
    expect(await thumbnail).toBeUndefined();
  });
});
