import { describe, expect, it } from 'vitest';
import { decodeDocument } from './document-text.js';

const declared = (encoding: string) => `<?xml version="1.0" encoding="${encoding}"?><a b="é"/>`;
const utf16be = (text: string) => Buffer.from(`\ufeff${text}`, 'utf16le').swap16();

describe('decodeDocument', () => {
  it.each<[string, Buffer, string]>([
    ['UTF-8', Buffer.from('<a b="é🎙"/>'), '<a b="é🎙"/>'],
    ['UTF-8 with a byte order mark', Buffer.from('\ufeff<a b="é"/>'), '<a b="é"/>'],
    [
      'UTF-8 that is declared to be another',
      Buffer.from(declared('ISO-8859-1')),
      declared('ISO-8859-1'),
    ],
    ['UTF-8 that is declared to be UTF-16', Buffer.from(declared('utf-16')), declared('utf-16')],
    [
      'UTF-16 in either order',
      Buffer.from(`\ufeff${declared('utf-8')}`, 'utf16le'),
      declared('utf-8'),
    ],
    ['UTF-16 in the other order', utf16be(declared('utf-8')), declared('utf-8')],
    [
      'the encoding that is declared',
      Buffer.concat([ascii(declared('koi8-r')), Buffer.of(0xc1)]),
      `${ascii(declared('koi8-r'))}а`,
    ],
    ['windows-1252 where nothing is declared', Buffer.from('<a b="é"/>', 'latin1'), '<a b="é"/>'],
    [
      'windows-1252 that is declared to be UTF-8',
      Buffer.from(declared('utf-8'), 'latin1'),
      declared('utf-8'),
    ],
    [
      'windows-1252 that is declared to be UTF-16',
      Buffer.from(declared('utf-16'), 'latin1'),
      declared('utf-16'),
    ],
    [
      'windows-1252 where the name is unknown',
      Buffer.from(declared('klingon'), 'latin1'),
      declared('klingon'),
    ],
    ['damaged UTF-8 with a mark', Buffer.of(0xef, 0xbb, 0xbf, 0x61, 0xe9, 0x62), 'a\ufffdb'],
    ['nothing', Buffer.alloc(0), ''],
  ])('reads %s', (_, bytes, text) => expect(decodeDocument(bytes)).toBe(text));
});

/** Returns the bytes of a text without its é. */
function ascii(text: string): Buffer {
  return Buffer.from(text.replaceAll('é', ''));
}
