export { declaredEncoding, markedEncoding, supportedEncoding } from './document-text.js';
export {
  maxOpmlBytes,
  type Opml,
  OpmlError,
  type OpmlFeed,
  OpmlLimitError,
  readOpml,
} from './opml-reader.js';
export {
  escapeXml,
  opmlEnd,
  opmlOutline,
  opmlStart,
  writeOpml,
  xmlDeclaration,
} from './opml-writer.js';
