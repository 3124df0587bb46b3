// Templates of the page. Values become text nodes and properties, never markup.
import htm from 'htm';
import { h, type VNode } from 'preact';

export const html: (strings: TemplateStringsArray, ...values: readonly unknown[]) => VNode = bind();

function bind(): typeof html {
  const bound = htm.bind(h);
  return (strings, ...values) => {
    const made = bound(strings, ...values);
    return Array.isArray(made) ? h('div', null, made) : made;
  };
}

/** For an event of which nothing is needed: calls the function with these. */
export function call<Args extends readonly unknown[]>(act: (...args: Args) => unknown, ...args: Args): () => void {
  return () => {
    act(...args);
  };
}

/** For an event of a field: calls the function with what stands in the field. */
export function withText(act: (text: string) => void): (event: Event) => void {
  return ({ target }) => {
    const isField =
      target instanceof HTMLInputElement ||
      target instanceof HTMLSelectElement ||
      target instanceof HTMLTextAreaElement;
    act(isField ? target.value : '');
  };
}

/** The files that were chosen. */
export function fieldFiles({ target }: Event): readonly File[] {
  return target instanceof HTMLInputElement && target.files !== null ? [...target.files] : [];
}
