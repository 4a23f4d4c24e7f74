import { Parser, Tokenizer } from 'htmlparser2';
import { describe, expect, it } from 'vitest';
import { FeedTokenizer } from './feed-tokenizer.js';

/** Returns the events of a document that arrives in pieces of a length. */
function eventsOf(document: string, length: number, tokenizer: typeof Tokenizer): string[] {
  const events: string[] = [];
  const parser = new Parser(
    {
      onopentagname: (name) => events.push(`<${name}>`),
      ontext: (text) => events.push(text),
      oncomment: (text) => events.push(`<!--${text}-->`),
      onprocessinginstruction: (_, text) => events.push(`<${text}>`),
      onclosetag: (name, isImplied) => events.push(`</${name}>${isImplied}`),
    },
    { xmlMode: true, Tokenizer: tokenizer },
  );
  for (let start = 0; start < document.length; start += length)
    parser.write(document.slice(start, start + length));
  parser.end();
  return events;
}

describe('FeedTokenizer', () => {
  const document = `<?xml version="1.0"?><!DOCTYPE rss><a><!-- b - -- c --><![CDATA[d ] ]] > é]]]>
    <![CDATA[]]>e<![CDATA[never closed`;

  it.each([1, 2, 3, 7, 1_000])('emits the same events for pieces of %d characters', (length) => {
    const events = eventsOf(document, length, FeedTokenizer);
    expect(events).toEqual(eventsOf(document, length, Tokenizer));
    expect(events).toContain('d ] ]] > é]');
  });

  it('replaces a method that this version of htmlparser2 has', () => {
    expect(Tokenizer.prototype).toHaveProperty('fastForwardTo');
  });
});
