// A report of a comparison: one file that needs nothing else. The rows stand in the page; the picture is made of them alone.
import type { VNode } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { type ChangeMap, type DiffRow, makeChangeMap } from '../../../engine/compiler.js';
import { type Instant, instantOf } from '../../../engine/index.js';
import { CHANGES_VIEW, makePicture, type Picture, type View } from '../map/picture.js';
import { changeDetail } from '../worker/cell-detail.js';
import type { PolicyDifference, WorkerAnswer } from '../worker/protocol.js';
import { ChangesPane } from './changes-pane.js';
import type { Engine } from './engine.js';
import { html } from './html.js';
import { mount, textIn } from './mount.js';
import { plain } from './words.js';

interface Digests {
  readonly snapshot: string;
  readonly decisions: string;
}

/** What stands in the page: the answer of `diff --format json`, and what heads it. */
interface Written {
  readonly title: string;
  readonly made: string;
  readonly version: string;
  readonly old: Digests;
  readonly new: Digests;
  readonly equal: boolean;
  readonly gained: readonly WrittenRow[];
  readonly lost: readonly WrittenRow[];
  readonly cells: {
    readonly compared: number | string;
    readonly gained: number | string;
    readonly lost: number | string;
  };
  readonly weaker: readonly string[];
}

type WrittenRow = Omit<DiffRow, 'from' | 'until'> & { readonly from: string | null; readonly until: string | null };

function toRow(row: WrittenRow): DiffRow {
  const at = (text: string | null): Instant | null => (text === null ? null : instantOf(Date.parse(text)));
  return { ...row, from: at(row.from), until: at(row.until) };
}

function engineOf(map: ChangeMap, rows: readonly DiffRow[]): Engine {
  const cast = { identities: map.identities, roles: [], people: [] };
  const ground = { nodes: map.nodes, cast, layers: 2, scopes: map.scopes, tallies: map.tallies };
  let picture: Picture = makePicture(ground, CHANGES_VIEW, null);
  const answer = (ask: Parameters<Engine['ask']>[0]): WorkerAnswer => {
    switch (ask.kind) {
      case 'view':
        picture = makePicture(ground, ask.view, ask.view.at === null ? null : instantOf(ask.view.at));
        return { kind: 'size', size: picture.size };
      case 'frame':
        return { kind: 'shown', shown: picture.show(ask.frame) };
      case 'table':
        return { kind: 'cells', ...picture.held(50_000) };
      case 'cell':
        return { kind: 'cell', cell: changeDetail({ picture, line: ask.line, column: ask.column, rows }) };
      default:
        return { kind: 'refused', message: 'a report has the difference of two policies and not the policies' };
    }
  };
  return { ask: (ask) => Promise.resolve(answer(ask)), onCounted: () => () => undefined, stop: () => undefined };
}

function Report({ written }: { readonly written: Written }): VNode {
  const [view, setView] = useState<View>(CHANGES_VIEW);
  const { compared, map, engine } = useMemo(() => {
    const [gained, lost] = [written.gained.map(toRow), written.lost.map(toRow)];
    const made = makeChangeMap(gained, lost);
    const { cells } = written;
    const all: PolicyDifference = {
      ...{ equal: written.equal, gained, lost, weaker: written.weaker },
      cells: { compared: BigInt(cells.compared), gained: BigInt(cells.gained), lost: BigInt(cells.lost) },
    };
    return { compared: all, map: made, engine: engineOf(made, [...gained, ...lost]) };
  }, [written]);
  return html`<div class="page">
    <header>
      <h1>${plain(written.title)}</h1>
      <span class="faint">What changes for whom, exactly. Made ${written.made} by bailiwick ${written.version}.</span>
    </header>
    <main class="split">
      <${ChangesPane}
        engine=${engine}
        compared=${compared}
        digests=${[
          ['before', written.old.snapshot],
          ['after', written.new.snapshot],
        ]}
        version=${0}
        scopes=${map.scopes}
        instants=${map.instants}
        view=${view}
        onView=${setView}
      />
    </main>
  </div>`;
}

mount(html`<${Report} written=${JSON.parse(textIn('report')) as Written} />`);
