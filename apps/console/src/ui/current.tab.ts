/** Scrolls the row of tabs to the current one, which can be outside of a phone's screen. */
export function showCurrentTab(): void {
  const tab = document.querySelector<HTMLElement>('header.top [aria-current]');
  const row = tab?.parentElement;
  if (tab && row) row.scrollLeft = tab.offsetLeft - (row.clientWidth - tab.offsetWidth) / 2;
}
