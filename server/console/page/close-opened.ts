// What somebody opened is closed by Escape, and whoever opened it has the focus again. Such a part is a `details`, or has the class `opened`
// and in it the control that opens and closes it.

export function closeByEscape(root: HTMLElement): void {
  root.addEventListener('keydown', (event) => {
    const { key, target } = event;
    // A field has its own use of the key: it closes its choices, or empties itself.
    if (key !== 'Escape' || event.defaultPrevented || !(target instanceof Element)) return;
    if (target.matches('input, select, textarea')) return;
    if (closeOpened(target)) event.preventDefault();
  });
}

/** Closes the innermost part around the element; says whether there was one. */
export function closeOpened(within: Element): boolean {
  const opened = within.closest('details[open], .opened');
  const opener = opened?.querySelector<HTMLElement>(':scope > summary, [aria-expanded=true]');
  if (opener === null || opener === undefined) return false;
  opener.focus();
  opener.click();
  return true;
}
