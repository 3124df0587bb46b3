// Shows a page in place of what its file says while it opens.
import { render, type VNode } from 'preact';
import { closeByEscape } from './close-opened.js';
import { keepFocus } from './keep-focus.js';

/** What the file has in an element of its own: a script, or data. */
export function textIn(id: string): string {
  return document.getElementById(id)?.textContent ?? '';
}

export function mount(page: VNode): void {
  const root = document.getElementById('page');
  if (root === null) return;
  root.replaceChildren();
  keepFocus(root);
  closeByEscape(root);
  render(page, root);
}
