// A field whose text counts once it is finished: by Enter, or by leaving the field. What is being typed stays while the page changes around it.
import type { VNode } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { fieldValue, html } from './html.js';

export interface TextFieldProps {
  readonly value: string;
  readonly list: string;
  readonly placeholder: string;
  readonly onValue: (value: string) => void;
}

export function TextField({ value, list, placeholder, onValue }: TextFieldProps): VNode {
  const [typed, setTyped] = useState(value);
  useEffect(() => {
    setTyped(value);
  }, [value]);
  return html`<input
    list=${list}
    value=${typed}
    placeholder=${placeholder}
    onInput=${(event: Event) => {
      setTyped(fieldValue(event));
    }}
    onChange=${(event: Event) => {
      onValue(fieldValue(event).trim());
    }}
  />`;
}
