import { createHash } from 'node:crypto';

/** The one stylesheet. Colours keep a contrast of at least 4.5 to 1, in light and in dark. */
const text = `
:root {
  color-scheme: light dark;
  --ground: #f4f3f8; --card: #ffffff; --sunken: #f0eff6; --text: #1d1b26; --quiet: #5b5768; --line: #d9d6e3;
  --accent: #5b3fc4; --accent-strong: #4a31a6; --on-accent: #ffffff; --wash: #ece7fb;
  --bad: #b3261e; --bad-wash: #fdecea; --good: #1c6b3c; --good-wash: #e4f4ea; --field: #8a8599;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #14121b; --card: #1e1b28; --sunken: #272333; --text: #f0eef6; --quiet: #b4aec4; --line: #383348;
    --accent: #b9a6ff; --accent-strong: #cdbfff; --on-accent: #1d1145; --wash: #2d2547;
    --bad: #ff9d94; --bad-wash: #3a1f1f; --good: #8fd8a9; --good-wash: #1a3325; --field: #8a8599;
  }
}
*, *::before, *::after { box-sizing: border-box; }
html { font: 100%/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif; -webkit-text-size-adjust: 100%; }
body {
  margin: 0; min-height: 100vh; min-height: 100dvh; display: flex; flex-direction: column;
  background: var(--ground); color: var(--text); overflow-wrap: anywhere; hyphens: auto;
}
a { color: var(--accent); text-underline-offset: .2em; }
a:hover { color: var(--accent-strong); }
h1, h2, h3, p, ul, ol, dl { margin: 0; }
h1 { font-size: 1.625rem; line-height: 1.2; letter-spacing: -.015em; text-wrap: balance; }
h2 { font-size: 1.1875rem; line-height: 1.3; letter-spacing: -.01em; }
h3 { font-size: 1rem; line-height: 1.4; }
.stack > h2 { font-size: 1.0625rem; }
section.stack { gap: .625rem; }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
.skip { position: absolute; left: -999rem; }
.skip:focus { left: 1rem; top: .75rem; padding: .5rem 1rem; background: var(--card); border-radius: .5rem; z-index: 1; }
.hidden { position: absolute; width: 1px; height: 1px; margin: -1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }

header.top { display: flex; align-items: center; gap: 1rem; padding: 1rem clamp(1rem, 4vw, 2rem); }
.brand { display: inline-flex; align-items: center; gap: .625rem; font-weight: 650; color: var(--text); text-decoration: none; }
.brand svg { width: 2rem; height: 2rem; flex: none; }
.brand .plate { fill: var(--accent); }
.brand .wave { stroke: var(--on-accent); }
header.top form { margin-left: auto; }
main { flex: 1; width: 100%; max-width: 30rem; margin: 0 auto; padding: clamp(.5rem, 5vh, 3.5rem) 1rem 4rem; }
main.wide { max-width: 46rem; padding-top: 1rem; }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 1rem; padding: clamp(1.25rem, 5vw, 2rem); }
.card, .stack { display: grid; gap: 1.25rem; grid-template-columns: minmax(0, 1fr); }
.wide > .card { padding: clamp(1.25rem, 4vw, 1.75rem); }
.wide > .card + .card { margin-top: 1.25rem; }
.head { display: grid; gap: .375rem; grid-template-columns: minmax(0, 1fr); }
.intro { display: grid; gap: .375rem; margin: .5rem 0 1.5rem; }
.lead, .quiet { color: var(--quiet); }
.small { font-size: .9375rem; }
.links { display: grid; gap: .5rem; padding-top: 1.25rem; border-top: 1px solid var(--line); font-size: .9375rem; }

summary { cursor: pointer; color: var(--accent); }
details[open] summary { margin-bottom: .75rem; }
form { display: grid; gap: 1.25rem; margin: 0; }
.field { display: grid; gap: .375rem; min-width: 0; border: 0; padding: 0; margin: 0; }
label, legend { font-weight: 600; padding: 0; }
.hint { color: var(--quiet); font-size: .875rem; }
input:not([type=hidden]):not([type=radio]), select {
  width: 100%; min-height: 2.875rem; padding: .5rem .75rem; font: inherit; color: inherit;
  background: var(--card); border: 1px solid var(--field); border-radius: .625rem;
}
input.hidden[type=text][name] { width: 1px; min-height: 0; padding: 0; border: 0; }
input[name][aria-invalid=true] { border: 2px solid var(--bad); }
input.code[type=text][name] { font-size: 1.375rem; letter-spacing: .2em; font-variant-numeric: tabular-nums; text-transform: none; }
input.user-code[type=text][name] { font-size: 1.25rem; letter-spacing: .15em; text-transform: uppercase; }
.choices { display: grid; gap: .25rem; margin-top: .375rem; }
.choice { display: flex; align-items: center; gap: .625rem; min-height: 2.5rem; font-weight: 400; }
.choice input { width: 1.25rem; height: 1.25rem; margin: 0; accent-color: var(--accent); flex: none; }
.error { color: var(--bad); font-size: .9375rem; font-weight: 600; }
.notice { padding: .75rem 1rem; border-radius: .625rem; background: var(--wash); }
.notice.bad { background: var(--bad-wash); color: var(--bad); font-weight: 600; }
.notice.good { background: var(--good-wash); color: var(--good); font-weight: 600; }

button, .button {
  display: inline-flex; align-items: center; justify-content: center; min-height: 2.875rem; padding: .5rem 1.25rem;
  font: inherit; font-weight: 600; text-align: center; text-decoration: none; cursor: pointer;
  color: var(--on-accent); background: var(--accent); border: 1px solid transparent; border-radius: .625rem;
}
button:hover, .button:hover { background: var(--accent-strong); color: var(--on-accent); }
.plain { color: var(--text); background: transparent; border-color: var(--field); }
.plain:hover { color: var(--text); background: var(--sunken); }
.danger { color: var(--bad); background: transparent; border-color: currentcolor; }
.danger:hover { color: var(--bad); background: var(--bad-wash); }
.slight { min-height: 2.5rem; padding: .25rem .875rem; font-size: .9375rem; }
.bare { color: var(--quiet); background: transparent; padding: .25rem .5rem; min-height: 2.5rem; font-size: .9375rem; font-weight: 500; }
.bare:hover { color: var(--text); background: transparent; text-decoration: underline; }
.actions { display: flex; flex-wrap: wrap; gap: .75rem; }
.actions > * { flex: 1 1 auto; }
.actions.start > * { flex: 0 0 auto; }

.rows { list-style: none; padding: 0; display: grid; }
.row { display: flex; align-items: center; gap: .75rem 1.25rem; padding: .875rem 0; border-top: 1px solid var(--line); }
ul + .actions, ul + form { padding-top: .25rem; }
.row:last-child { padding-bottom: 0; }
.row > div:first-child { flex: 1; min-width: 0; display: grid; gap: .125rem; }
.row p { color: var(--quiet); font-size: .9375rem; }
.tag { display: inline-block; margin-left: .5rem; padding: .0625rem .5rem; border-radius: 1rem; background: var(--good-wash); color: var(--good); font-size: .8125rem; font-weight: 600; }
.tag.bad { background: var(--bad-wash); color: var(--bad); }
@media (max-width: 30rem) {
  .row { flex-direction: column; align-items: stretch; }
  .row > form button, .row > .button { width: 100%; }
}
dl.facts { display: grid; grid-template-columns: minmax(6rem, max-content) minmax(0, 1fr); gap: .375rem 1rem; font-size: .9375rem; }
dl.facts dt { color: var(--quiet); }
dl.facts dd { margin: 0; }
ul.rights { padding-left: 1.25rem; display: grid; gap: .25rem; }
.secret, .shown {
  font: 1.0625rem/1.6 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; background: var(--sunken);
  border: 1px solid var(--line); border-radius: .625rem; padding: .75rem 1rem; overflow-wrap: anywhere; user-select: all; -webkit-user-select: all;
}
.shown { font-size: 1.75rem; letter-spacing: .12em; text-align: center; font-weight: 600; }
.codes { padding-left: 3rem; user-select: text; -webkit-user-select: text; }
.qr { display: block; width: 15rem; max-width: 100%; height: auto; margin: 0 auto; border-radius: .75rem; }
footer { padding: 1rem; text-align: center; color: var(--quiet); font-size: .875rem; }
@media print { header.top, .actions, .links, footer { display: none; } }
`;

/** Served for a year under the name of its content. */
export const stylesheet = {
  text,
  path: `/${createHash('sha256').update(text).digest('base64url').slice(0, 16)}.css`,
};
