/** Scrolls the row of tabs to the current one, which can be outside of a phone's screen. */
export function showCurrentTab(): void {
  showTab(document.querySelector<HTMLElement>('header.top [aria-current]'));
}

// Turning a phone changes the size of the window.
addEventListener('resize', showCurrentTab);

/** Scrolls the row of tabs so that a tab is in its middle. */
function showTab(tab: HTMLElement | null): void {
  const row = tab?.parentElement;
  if (row) row.scrollLeft = tab.offsetLeft - (row.clientWidth - tab.offsetWidth) / 2;
}

// Chromium does not scroll to a tab that is partly visible when the keyboard focuses it. A tab that
// a pointer pressed must not move, or the release is no click.
document.addEventListener('focusin', ({ target }) => {
  if (target instanceof HTMLElement && target.matches('header.top nav a:focus-visible'))
    showTab(target);
});
