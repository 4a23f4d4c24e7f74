import { html, type Html, type Part } from '../html.js';
import type { Visit } from '../page.js';

export interface Field {
  name: string;
  label: string;
  type?: 'text' | 'password' | 'email';
  value?: string;
  hint?: string;
  /** Why what was entered is refused. */
  error?: string | undefined;
  /** What the browser fills in (HTML, 4.10.18.7). */
  autocomplete: string;
  /** The first of a form, or the one that is refused. */
  focus?: boolean;
  required?: boolean;
  maxLength?: number;
  /** Of codes: how it looks and which keys a phone shows. */
  className?: string;
  inputMode?: 'numeric' | 'text';
  /** The form it belongs to, where that is not around it. */
  form?: string;
}

/** A labelled input; hint and error are told with it. */
export function field(of: Field): Html {
  const described = [of.hint && `${of.name}-hint`, of.error && `${of.name}-error`].filter(Boolean).join(' ');
  return html`<div class="field">
    <label for="${of.name}">${of.label}</label>
    ${of.hint && html`<p class="hint" id="${of.name}-hint">${of.hint}</p>`}
    ${of.error && html`<p class="error" id="${of.name}-error">${of.error}</p>`}
    <input
      id="${of.name}"
      name="${of.name}"
      type="${of.type ?? 'text'}"
      autocomplete="${of.autocomplete}"
      value="${of.value ?? ''}"
      class="${of.className ?? ''}"
      maxlength="${of.maxLength ?? 1000}"
      ${described !== '' && html`aria-describedby="${described}"`}
      ${of.error !== undefined && html`aria-invalid="true"`}
      ${(of.required ?? true) && html`required`}
      ${of.focus && html`autofocus`}
      ${of.inputMode && html`inputmode="${of.inputMode}"`}
      ${of.form && html`form="${of.form}"`}
      ${of.type === 'email' ? '' : html`autocapitalize="none" spellcheck="false"`}
    />
  </div>`;
}

export function hidden(values: Record<string, string | undefined>): Html {
  const inputs = Object.entries(values).map(
    ([name, value]) => value !== undefined && html`<input type="hidden" name="${name}" value="${value}" />`,
  );
  return html`${inputs}`;
}

/** Head of a page that has one card: title, and what it is about. */
export function head(title: string, ...leads: Part[]): Html {
  return html`<div class="head">
    <h1>${title}</h1>
    ${leads.map((lead) => lead !== undefined && lead !== false && html`<p class="lead">${lead}</p>`)}
  </div>`;
}

export function card(...parts: Part[]): Html {
  return html`<div class="card">${parts}</div>`;
}

/** Told at once to those who hear the page. */
export function refusal(text: string | undefined): Html {
  return text === undefined ? html`` : html`<p class="notice bad" role="alert">${text}</p>`;
}

const units = [
  ['year', 31_536_000],
  ['month', 2_592_000],
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
  ['second', 1],
] as const;

/** A time, said from now on or back: nobody's time zone is known here. */
export function when(visit: Visit, time: Date): Html {
  const seconds = Math.round((time.getTime() - visit.now.getTime()) / 1_000);
  const [unit, length] = units.find(([, of]) => Math.abs(seconds) >= of) ?? ['second', 1];
  const text = new Intl.RelativeTimeFormat(visit.language, { numeric: 'auto' }).format(
    Math.trunc(seconds / length),
    unit,
  );
  return html`<time datetime="${time.toISOString()}">${text}</time>`;
}

/** A day, as 2026-11-22. */
export function day(visit: Visit, date: string): Html {
  const text = new Intl.DateTimeFormat(visit.language, { dateStyle: 'medium', timeZone: 'UTC' }).format(
    new Date(`${date}T00:00:00Z`),
  );
  return html`<time datetime="${date}">${text}</time>`;
}

/** Terms and what they are. */
export function facts(...of: (readonly [string, Part] | false | undefined)[]): Html {
  return html`<dl class="facts">
    ${of.map(
      (fact) =>
        fact &&
        html`<dt>${fact[0]}</dt>
          <dd>${fact[1]}</dd>`,
    )}
  </dl>`;
}
