// The picture as a table, for whoever wants to read, copy or print it: a row for each cell in which something is held.
import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import type { CellCount, View } from '../map/picture.js';
import type { Subject } from '../worker/protocol.js';
import type { Engine } from './engine.js';
import { html } from './html.js';
import { placeText } from './cell-text.js';
import { Table } from './table.js';
import { useCurrent } from './use-current.js';
import { heldTexts } from './words.js';

export interface MapTableProps {
  readonly engine: Engine;
  readonly subject: Subject;
  readonly version: number;
  readonly view: View;
}

interface Cells {
  readonly cells: readonly CellCount[];
  readonly isWhole: boolean;
}

export function MapTable({ engine, subject, version, view }: MapTableProps): VNode {
  const [isOpen, setOpen] = useState(false);
  const [shown, setShown] = useState<Cells | null>(null);
  useCurrent([engine, subject, version, view, isOpen], (isCurrent) => {
    if (!isOpen) return undefined;
    const ask = (): void => {
      void engine.ask({ kind: 'table', subject }).then((answer) => {
        if (isCurrent()) setShown(answer.kind === 'cells' ? answer : null);
      });
    };
    ask();
    return engine.onCounted(subject, ask);
  });
  return html`<details
    class="as-table"
    onToggle=${(event: Event) => {
      setOpen(event.currentTarget instanceof HTMLDetailsElement && event.currentTarget.open);
    }}
  >
    <summary>The same as a table</summary>
    ${
      isOpen &&
      shown !== null &&
      html`<${Table}
          name=${subject}
          heads=${subject === 'rights' ? RIGHTS : CHANGES}
          rows=${shown.cells.map(rowOf)}
          json=${shown.cells}
        />
        ${!shown.isWhole && html`<p class="faint">These are the first of the cells. Close rows or columns, or search, to have all.</p>`}`
    }
  </details>`;
}

const RIGHTS = ['Where', 'Who', 'Holds'];
const CHANGES = ['Where', 'Who', 'Gains', 'Loses'];

function rowOf(cell: CellCount): readonly string[] {
  const { column, scopes, counts, of } = cell;
  return [placeText(cell), column, ...counts.map((layer) => heldTexts(scopes, layer, of).join(', '))];
}
