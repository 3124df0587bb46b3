// One person: an icicle of namespaces coloured by what is held there, and where each right comes from.
import type { VNode } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { Facts, RegionDetail } from '../worker/protocol.js';
import { grantText } from './causes.js';
import { whereText } from './changes-pane.js';
import type { Engine } from './engine.js';
import { html } from './html.js';
import { drawnOf, ScopePicker } from './scope-picker.js';
import { Table } from './table.js';
import { TextField } from './text-field.js';
import { instantText, plain } from './words.js';

export interface PersonPaneProps {
  readonly engine: Engine;
  readonly facts: Facts;
  readonly version: number;
  readonly at: number;
  readonly who: string;
  readonly onWho: (who: string) => void;
}

interface Found {
  /** The question that this answers: what was said of somebody else is not shown meanwhile. */
  readonly to: string;
  readonly regions: readonly RegionDetail[];
  readonly note: string | null;
}

const NOBODY: Found = { to: '', regions: [], note: null };
const SOON = 30 * 24 * 60 * 60 * 1000;
const HEADS = ['Where', 'Scopes', 'Until', 'By'];

/** How a block is coloured. */
const KINDS = [
  ['read', 'read alone'],
  ['write', 'write or another action'],
  ['none', 'nothing'],
] as const;

export function PersonPane({ engine, facts, version, at, who, onWho }: PersonPaneProps): VNode {
  const [kept, setFound] = useState<Found>(NOBODY);
  const [choice, setChoice] = useState('');
  const asked = JSON.stringify([version, at, who]);
  const found = kept.to === asked ? kept : NOBODY;
  useEffect(() => {
    let isCurrent = true;
    if (who === '') return undefined;
    void engine.ask({ kind: 'what-can', who, at }).then((answer) => {
      if (!isCurrent) return;
      if (answer.kind === 'regions') setFound({ ...answer, to: asked });
      else if (answer.kind === 'refused') setFound({ regions: [], note: answer.message, to: asked });
    });
    return () => {
      isCurrent = false;
    };
  }, [engine, version, at, who]);
  const drawn = new Set(drawnOf(facts.scopes, choice).map((i) => facts.scopes[i]));
  const soon = found.regions.filter(({ until }) => until !== null && until - at <= SOON);
  return html`<div class="panel">
    <div class="bar">
      <label
        >Person or identity
        <${TextField} list="who" value=${who} placeholder="orcid:0000-0002-1825-0097" onValue=${onWho}
      /></label>
      <${WhoList} facts=${facts} />
      <span class="faint">at ${instantText(at)}</span>
    </div>
    ${found.note !== null && html`<p class="warning" role="status">${plain(found.note)}</p>`}
    ${who !== '' && found.to === asked && found.regions.length === 0 && found.note === null && html`<p>${plain(who)} holds nothing then.</p>`}
    ${
      found.regions.length > 0 &&
      html`<div>
        <h2>Where</h2>
        <div class="bar">
          <${ScopePicker} scopes=${facts.scopes} value=${choice} onChange=${setChoice} />
          ${KINDS.map(
            ([kind, text]) =>
              html`<span class="key" key=${kind}
                ><svg class="hue swatch" aria-hidden="true">
                  <rect class=${kind} width="100%" height="100%"></rect></svg
                >${text}</span
              >`,
          )}
        </div>
        <${Icicle}
          regions=${found.regions.map((region) => ({ ...region, scopes: region.scopes.filter((scope) => drawn.has(scope)) }))}
        />
        ${
          soon.length > 0 &&
          html`<h2>Ends within 30 days</h2>
            <ul>
              ${soon.map((region, i) => html`<li key=${i}>${region.scopes.join(', ')} at ${plain(whereText(region))} until ${instantText(region.until)}</li>`)}
            </ul>`
        }
        <h2>From where each right comes</h2>
        <${Table}
          name="rights"
          heads=${HEADS}
          rows=${found.regions.map((region) => [whereText(region), region.scopes.join(', '), instantText(region.until), region.grants.map(grantText).join('; ')])}
          json=${found.regions}
        />
      </div>`
    }
  </div>`;
}

export function WhoList({ facts }: { readonly facts: Facts }): VNode {
  return html`<datalist id="who">
    ${[...facts.people, ...facts.identities].slice(0, 2000).map((text) => html`<option key=${text} value=${text}></option>`)}
  </datalist>`;
}

interface Block {
  readonly path: string;
  readonly depth: number;
  readonly kind: string;
  readonly text: string;
}

/** A row for each level of namespaces. A block is as wide as the leaves below it. */
function Icicle({ regions }: { readonly regions: readonly RegionDetail[] }): VNode {
  const paths = [
    ...new Set(regions.flatMap(({ namespace, except = [] }) => [namespace, ...except]).flatMap(ancestors)),
  ].sort();
  const children = new Map<string, string[]>();
  for (const path of paths) {
    if (path === '/') continue;
    const above = path.slice(0, path.lastIndexOf('/')) || '/';
    children.set(above, [...(children.get(above) ?? []), path]);
  }
  const leaves = (path: string): number =>
    (children.get(path) ?? []).reduce((sum, child) => sum + leaves(child), 0) || 1;
  const blocks: (Block & { readonly x: number; readonly width: number })[] = [];
  const place = (path: string, depth: number, x: number): void => {
    const held = new Set(regions.filter((region) => covers(region, path)).flatMap(({ scopes }) => scopes));
    const writes = [...held].some((scope) => !scope.endsWith(':read'));
    const kind = held.size === 0 ? 'none' : writes ? 'write' : 'read';
    blocks.push({
      path,
      depth,
      kind,
      text: `${path}: ${held.size === 0 ? 'nothing' : [...held].join(', ')}`,
      x,
      width: leaves(path),
    });
    let from = x;
    for (const child of children.get(path) ?? []) {
      place(child, depth + 1, from);
      from += leaves(child);
    }
  };
  place('/', 0, 0);
  const [all, deepest] = [leaves('/'), Math.max(...blocks.map(({ depth }) => depth))];
  const unit = 1000 / all;
  return html`<svg
    class="icicle"
    role="img"
    aria-label="Namespaces by what is held there; the table below says the same"
    viewBox=${`0 0 1000 ${String((deepest + 1) * 24)}`}
  >
    ${blocks.map(
      ({ path, depth, kind, text, x, width }) =>
        html`<g key=${path}>
          <rect class=${kind} x=${x * unit} y=${depth * 24} width=${width * unit} height="24"
            ><title>${plain(text)}</title></rect
          >
          ${width * unit > 40 && html`<text x=${x * unit + 4} y=${depth * 24 + 16}>${plain(shortened(path.slice(path.lastIndexOf('/')), (width * unit) / 7))}</text>`}
        </g>`,
    )}
  </svg>`;
}

function shortened(text: string, letters: number): string {
  return text.length <= letters ? text : `${text.slice(0, Math.max(1, Math.floor(letters) - 1))}…`;
}

function ancestors(path: string): readonly string[] {
  const parts = path === '/' ? [] : path.slice(1).split('/');
  return ['/', ...parts.map((_, i) => `/${parts.slice(0, i + 1).join('/')}`)];
}

/** What is held at the namespace itself. */
function covers({ namespace, extent, except = [] }: RegionDetail, path: string): boolean {
  const isIn = (above: string): boolean => above === '/' || path === above || path.startsWith(`${above}/`);
  if (path === namespace) return extent !== 'below';
  return extent !== 'exact' && isIn(namespace) && !except.some(isIn);
}
