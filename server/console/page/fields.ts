// Fields with their titles, and choices among a few.
import type { ComponentChildren, VNode } from 'preact';
import { useState } from 'preact/hooks';
import { html, withText } from './html.js';

interface Titled {
  readonly title: string;
  readonly value: string;
  readonly onValue: (value: string) => void;
}

export interface FieldProps extends Titled {
  readonly type?: 'search';
  readonly size?: string;
  readonly placeholder?: string;
  readonly required?: boolean;
}

export function Field({ title, value, onValue, ...others }: FieldProps): VNode {
  return html`<label>${title} <input value=${value} onInput=${withText(onValue)} ...${others} /></label>`;
}

export interface ChoiceProps extends Titled {
  readonly of?: readonly string[];
  /** Options before those. */
  readonly children?: ComponentChildren;
}

export function Choice({ title, value, onValue, of = [], children }: ChoiceProps): VNode {
  return html`<label
    >${title}
    <select value=${value} onChange=${withText(onValue)}>
      ${children}${of.map((one) => html`<option key=${one} value=${one}>${one}</option>`)}
    </select></label
  >`;
}

export interface TextFieldProps extends Titled {
  readonly list: string;
  readonly placeholder: string;
}

/** Its text counts once it is finished: by Enter, or by leaving the field. What is being typed stays while the page changes around it. */
export function TextField({ title, value, list, placeholder, onValue }: TextFieldProps): VNode {
  // What is typed belongs to the value that it is to replace: an effect after the first paint could undo a key.
  const [kept, setKept] = useState({ of: value, typed: value });
  return html`<label
    >${title}
    <input
      list=${list}
      value=${kept.of === value ? kept.typed : value}
      placeholder=${placeholder}
      onInput=${withText((typed) => {
        setKept({ of: value, typed });
      })}
      onChange=${withText((text) => {
        onValue(text.trim());
      })}
  /></label>`;
}
