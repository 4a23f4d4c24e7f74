export {
  maxOpmlBytes,
  type Opml,
  OpmlError,
  type OpmlFeed,
  OpmlLimitError,
  readOpml,
} from './opml.reader.js';
export {
  escaped,
  opmlEnd,
  opmlOutline,
  opmlStart,
  writeOpml,
  xmlDeclaration,
} from './opml.writer.js';
