/** Matches the encoding in an XML declaration (XML 1.0, 4.3.3), in its first bytes. */
const encodingDeclaration =
  /^\s{0,100}<\?xml\s[^>]{0,200}encoding\s{0,20}=\s{0,20}["']([\w.-]{1,40})["']/;
const declarationBytes = 1_024;

/**
 * Returns the text of an XML document. Programs often declare a wrong encoding, so the bytes have
 * priority: first a byte order mark, then valid UTF-8, then the declaration, then windows-1252.
 */
export function decodeXml(document: Uint8Array): string {
  const marked = markedEncoding(document);
  if (marked !== undefined) return new TextDecoder(marked).decode(document);
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(document);
  } catch {
    const declared = declaredEncoding(document);
    // Decoding as UTF-8 failed above, so a declaration of UTF-8 is wrong.
    const isUsable = declared !== undefined && declared !== 'utf-8';
    return new TextDecoder(isUsable ? declared : 'windows-1252').decode(document);
  }
}

/** Returns the encoding of a document's byte order mark, or `undefined` without one. */
export function markedEncoding(document: Uint8Array): string | undefined {
  const [first, second, third] = document;
  if (first === 0xff && second === 0xfe) return 'utf-16le';
  if (first === 0xfe && second === 0xff) return 'utf-16be';
  return first === 0xef && second === 0xbb && third === 0xbf ? 'utf-8' : undefined;
}

/** Returns the encoding in the XML declaration, if it is present and supported. */
export function declaredEncoding(document: Uint8Array): string | undefined {
  const start = new TextDecoder('windows-1252').decode(document.subarray(0, declarationBytes));
  return supportedEncoding(encodingDeclaration.exec(start)?.[1]);
}

/**
 * Returns the encoding of a label (Encoding Standard, 4.2) for a document without a byte order
 * mark. Returns `undefined` for UTF-16 and unsupported labels.
 */
export function supportedEncoding(label: string | undefined): string | undefined {
  if (label === undefined) return undefined;
  try {
    const { encoding } = new TextDecoder(label);
    // An XML declaration that is readable as ASCII contradicts UTF-16.
    return encoding.startsWith('utf-16') ? undefined : encoding;
  } catch {
    return undefined;
  }
}
