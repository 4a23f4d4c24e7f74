/** Matches the encoding in an XML declaration (XML 1.0, 4.3.3), in its first bytes. */
const declaration = /^\s{0,100}<\?xml\s[^>]{0,200}encoding\s{0,20}=\s{0,20}["']([\w.-]{1,40})["']/;
const declarationBytes = 1_024;

/**
 * Returns the text of an XML document. Programs often declare a wrong encoding, so the bytes have
 * priority: first a byte order mark, then valid UTF-8, then the declaration, then windows-1252.
 */
export function textOf(document: Uint8Array): string {
  const [first, second, third] = document;
  if (first === 0xff && second === 0xfe) return new TextDecoder('utf-16le').decode(document);
  if (first === 0xfe && second === 0xff) return new TextDecoder('utf-16be').decode(document);
  const isMarked = first === 0xef && second === 0xbb && third === 0xbf;
  try {
    return new TextDecoder('utf-8', { fatal: !isMarked }).decode(document);
  } catch {
    return new TextDecoder(declaredEncoding(document)).decode(document);
  }
}

/** Returns the encoding of bytes that have no mark and are not UTF-8. */
function declaredEncoding(document: Uint8Array): string {
  const fallback = 'windows-1252';
  const start = new TextDecoder(fallback).decode(document.subarray(0, declarationBytes));
  try {
    const { encoding } = new TextDecoder(declaration.exec(start)?.[1]);
    // A declaration that is readable here rules out UTF-16, too.
    return encoding.startsWith('utf-') ? fallback : encoding;
  } catch {
    return fallback;
  }
}
