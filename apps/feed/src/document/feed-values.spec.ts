import { describe, expect, it } from 'vitest';
import { dateOf, descriptionOf, parseDuration, lineOf } from './feed-values.js';

describe('dateOf', () => {
  it.each([
    ['Wed, 02 Oct 2002 13:00:00 GMT', '2002-10-02T13:00:00Z'],
    ['Wed, 02 Oct 2002 15:00:00 +0200', '2002-10-02T13:00:00Z'],
    ['Wed, 2 Oct 2002 15:00 +02:00', '2002-10-02T13:00:00Z'],
    ['2 Oct 02 08:00:00 EST', '2002-10-02T13:00:00Z'],
    ['02 Oct 98 13:00:00 Z', '1998-10-02T13:00:00Z'],
    ['Wednesday, 02 October 2002 06:00:00 PDT', '2002-10-02T13:00:00Z'],
    ['Wed, 02 Oct 2002', '2002-10-02T00:00:00Z'],
    ['Wed, 02 Oct 2002 13:00:00 XYZ', '2002-10-02T13:00:00Z'],
    ['2002-10-02T15:00:00+02:00', '2002-10-02T13:00:00Z'],
    ['2002-10-02T13:00:00.123Z', '2002-10-02T13:00:00Z'],
    ['2002-10-02 13:00:00', '2002-10-02T13:00:00Z'],
    ['Tue, 29 Feb 2000 24:00:00 GMT', '2000-03-01T00:00:00Z'],
    [' 2002-10-02\n', '2002-10-02T00:00:00Z'],
  ])('reads %s', (text, date) => {
    expect(dateOf(text)).toEqual(new Date(date));
  });

  it.each([
    '',
    'yesterday',
    'Wed, 02 Foo 2002 13:00:00 GMT',
    'Sun, 31 Feb 2002 13:00:00 GMT',
    'Wed, 02 Oct 2002 25:00:00 GMT',
    '2002-13-02',
    '2002-02-30T13:00:00Z',
    '0001-01-01',
    'foo 1',
  ])('reads no date from "%s"', (text) => expect(dateOf(text)).toBeUndefined());
});

describe('parseDuration', () => {
  it.each([
    ['3600', 3_600],
    ['61:01', 3_661],
    ['1:01:01', 3_661],
    ['01:01:01.5', 3_661],
    ['0', undefined],
    ['00:00:00', undefined],
    ['-5', undefined],
    ['one hour', undefined],
    ['999999999', undefined],
  ])('reads %s as %s', (text, seconds) => expect(parseDuration(text)).toBe(seconds));
});

describe('texts', () => {
  it.each([
    ['Mind &amp;amp; Matter', 'Mind &amp; Matter'],
    ['Ferm&eacute;e&nbsp;', 'Fermée'],
    [' two\n\t lines ', 'two lines'],
    ['&unknown;', '&unknown;'],
    ['\0', undefined],
  ])('reads the line %j as %j', (text, line) => expect(lineOf(text)).toBe(line));

  it('reads a description without its HTML', () => {
    const html = '<p>About <a href="https://a.example/?x=1&y">us</a> &amp; you.</p><br/>1 &lt; 2';
    expect(descriptionOf(html)).toBe('About us & you. 1 < 2');
  });

  it('cuts a description at a whole character', () => {
    const description = descriptionOf('é'.repeat(2_000)) ?? '';
    expect(description).toBe(`${'é'.repeat(498)}…`);
    expect(Buffer.byteLength(description)).toBeLessThanOrEqual(1_000);
  });
});
