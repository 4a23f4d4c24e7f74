import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { createVisit, renderDocument } from './document.js';
import { failurePage, forwardPage } from './views/failure.view.js';

const visit = createVisit('en');

it('escapes a value in a text and in an attribute', () => {
  const value = `<script>alert("1")</script> & 'so on'`;
  const html = renderDocument(visit, forwardPage(visit, value, value));
  expect(html).not.toContain('<script>');
  expect(html).not.toContain('"1"');
  expect(html.match(/&lt;script>alert\(&quot;1&quot;\)&lt;\/script> &amp; 'so on'/g)).toHaveLength(
    3,
  );
});

it('has the same elements and attributes for every value', () => {
  const shapeOf = (detail: string) =>
    renderDocument(
      visit,
      failurePage(visit, 'badRequest', { detail, correlationId: detail }),
    ).split(/[<"]/).length;
  const characters = fc.constantFrom('<', '>', '"', "'", '&', ';', 'a', 'ü', '\0');
  fc.assert(
    fc.property(fc.array(characters), (value) => {
      expect(shapeOf(value.join(''))).toBe(shapeOf('a'));
    }),
  );
});
