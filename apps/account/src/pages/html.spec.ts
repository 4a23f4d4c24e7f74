import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { html } from './html.js';

it('escapes every value', () => {
  const value = `<script>alert("1")</script> & 'so on'`;
  expect(html`<p title="${value}">${value}</p>`.text).toBe(
    '<p title="&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt; &amp; &#39;so on&#39;">' +
      '&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt; &amp; &#39;so on&#39;</p>',
  );
});

it('leaves no character of a value that ends a text or a quoted attribute', () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom('<', '>', '"', "'", '&', ';', 'a', 'ü', '\0')), (characters) => {
      expect(html`${characters.join('')}`.text).not.toMatch(/[<>"']|&(?!(amp|lt|gt|quot|#39);)/);
    }),
  );
});

it('puts in what is HTML already as it is, lists item by item, and nothing for what is absent', () => {
  const items = ['a', '<b>'].map((item) => html`<li>${item}</li>`);
  expect(html`${items}${false}${undefined}${0}`.text).toBe('<li>a</li><li>&lt;b&gt;</li>0');
});
