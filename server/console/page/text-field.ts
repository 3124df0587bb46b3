// A field whose text counts once it is finished: by Enter, or by leaving the field. What is being typed stays while the page changes around it.
import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import { fieldValue, html } from './html.js';

export interface TextFieldProps {
  readonly value: string;
  readonly list: string;
  readonly placeholder: string;
  readonly onValue: (value: string) => void;
}

export function TextField({ value, list, placeholder, onValue }: TextFieldProps): VNode {
  // What is typed belongs to the value that it is to replace: an effect after the first paint could undo a key.
  const [kept, setKept] = useState({ of: value, typed: value });
  const typed = kept.of === value ? kept.typed : value;
  return html`<input
    list=${list}
    value=${typed}
    placeholder=${placeholder}
    onInput=${(event: Event) => {
      setKept({ of: value, typed: fieldValue(event) });
    }}
    onChange=${(event: Event) => {
      onValue(fieldValue(event).trim());
    }}
  />`;
}
