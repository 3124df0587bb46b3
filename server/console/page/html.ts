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

/** What stands in the field that an event is of. */
export function fieldValue({ target }: Event): string {
  const isField =
    target instanceof HTMLInputElement || target instanceof HTMLSelectElement || target instanceof HTMLTextAreaElement;
  return isField ? target.value : '';
}

/** The files that were chosen. */
export function fieldFiles({ target }: Event): readonly File[] {
  return target instanceof HTMLInputElement && target.files !== null ? [...target.files] : [];
}
