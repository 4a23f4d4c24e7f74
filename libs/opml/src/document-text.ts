/** Matches an XML declaration and its encoding (XML 1.0, 4.3.3). */
const declarationPattern =
  /^\s{0,100}<\?xml\s[^>]{0,200}encoding\s{0,20}=\s{0,20}["']([\w.-]{1,40})["']/;
/** Bytes at the start of a document that can contain the declaration. */
const declarationBytes = 1_024;

/**
 * Decodes an XML document. Many programs declare a wrong encoding. So the function tries, in this
 * order: a byte order mark, UTF-8, the declaration, windows-1252.
 */
export function decodeDocument(document: Uint8Array): string {
  const bomEncoding = markedEncoding(document);
  if (bomEncoding !== undefined) return new TextDecoder(bomEncoding).decode(document);
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(document);
  } catch {
    const xmlEncoding = declaredEncoding(document);
    // Ignores a declaration of UTF-8, because the bytes are not UTF-8.
    const isUsable = xmlEncoding !== undefined && xmlEncoding !== 'utf-8';
    return new TextDecoder(isUsable ? xmlEncoding : 'windows-1252').decode(document);
  }
}

/** Returns the encoding that a byte order mark names; `undefined` without one. */
export function markedEncoding(document: Uint8Array): string | undefined {
  const [first, second, third] = document;
  if (first === 0xff && second === 0xfe) return 'utf-16le';
  if (first === 0xfe && second === 0xff) return 'utf-16be';
  return first === 0xef && second === 0xbb && third === 0xbf ? 'utf-8' : undefined;
}

/** Returns the encoding that the XML declaration names, if it is supported. */
export function declaredEncoding(document: Uint8Array): string | undefined {
  const start = new TextDecoder('windows-1252').decode(document.subarray(0, declarationBytes));
  return supportedEncoding(declarationPattern.exec(start)?.[1]);
}

/**
 * Returns the name of the encoding with a label (Encoding Standard, 4.2), for a document without a
 * byte order mark. Returns `undefined` for UTF-16 and unsupported labels.
 */
export function supportedEncoding(label: string | undefined): string | undefined {
  if (label === undefined) return undefined;
  try {
    const { encoding } = new TextDecoder(label);
    // Ignores UTF-16, because a declaration in UTF-16 would not be readable as ASCII.
    return encoding.startsWith('utf-16') ? undefined : encoding;
  } catch {
    return undefined;
  }
}
