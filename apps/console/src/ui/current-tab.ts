/** Scrolls the row of tabs to the current one, which can be outside of a phone's screen. */
export function showCurrentTab(): void {
  centerTab(document.querySelector<HTMLElement>('header.top [aria-current]'));
}

// Rotating a phone changes the size of the window.
addEventListener('resize', showCurrentTab);

/** Scrolls the row of tabs until a tab is in the middle. */
function centerTab(tab: HTMLElement | null): void {
  const row = tab?.parentElement;
  if (row) row.scrollLeft = tab.offsetLeft - (row.clientWidth - tab.offsetWidth) / 2;
}

// Chromium does not scroll to a partly visible tab that gets the keyboard focus. `:focus-visible`
// excludes tabs that a pointer pressed: a tab that moves before the release gets no click.
document.addEventListener('focusin', ({ target }) => {
  if (target instanceof HTMLElement && target.matches('header.top nav a:focus-visible'))
    centerTab(target);
});
