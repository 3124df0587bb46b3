// Keeps the place of the keyboard. If a control is removed or disabled while it has the focus, the browser gives the focus to nothing, and Tab
// begins at the top of the page. The pane that had the control gets it instead.

export function keepFocus(root: HTMLElement): void {
  let last: Element | null = null;
  root.addEventListener('focusin', ({ target }) => {
    last = target instanceof Element ? target : null;
  });
  const look = (): void => {
    if (last === null || document.activeElement !== document.body) return;
    if (last.isConnected && !last.matches(':disabled')) return;
    last = null;
    document.getElementById('pane')?.focus({ preventScroll: true });
  };
  new MutationObserver(look).observe(root, {
    childList: true,
    subtree: true,
    attributes: true,
    attributeFilter: ['disabled'],
  });
}
