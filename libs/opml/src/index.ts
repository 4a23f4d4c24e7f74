export { readOutlines, type Outline } from './opml.outlines.js';
export { escaped, opmlEnd, opmlOutline, opmlStart, xmlDeclaration } from './opml.text.js';
