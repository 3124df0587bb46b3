// Tabs as keyboards know them: one of them is in the order of Tab, arrows go to the others.
import type { VNode } from 'preact';
import { call, html } from './html.js';

export interface TabListProps<Tab extends string> {
  readonly tabs: readonly (readonly [tab: Tab, title: string])[];
  readonly tab: Tab;
  readonly label: string;
  readonly onTab: (tab: Tab) => void;
}

export function TabList<Tab extends string>({ tabs, tab, label, onTab }: TabListProps<Tab>): VNode {
  const move = (event: KeyboardEvent): void => {
    const at = tabs.findIndex(([key]) => key === tab);
    const steps = new Map([
      ['ArrowRight', at + 1],
      ['ArrowLeft', at - 1 + tabs.length],
      ['Home', 0],
      ['End', tabs.length - 1],
    ]);
    const next = steps.get(event.key);
    const [key] = next === undefined ? [] : (tabs[next % tabs.length] ?? []);
    if (key === undefined) return;
    event.preventDefault();
    onTab(key);
    document.getElementById(`tab-${key}`)?.focus();
  };
  return html`<div class="tabs" role="tablist" aria-label=${label} onKeyDown=${move}>
    ${tabs.map(
      ([key, title]) =>
        html`<button
          type="button"
          role="tab"
          key=${key}
          id=${`tab-${key}`}
          tabindex=${tab === key ? '0' : '-1'}
          aria-selected=${String(tab === key)}
          aria-controls="pane"
          onClick=${call(onTab, key)}
        >
          ${title}
        </button>`,
    )}
  </div>`;
}
