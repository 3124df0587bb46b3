// YAML and JSON of other tools, with the line of every part. Unlike policy files, these may have several documents, anchors and aliases.
import { isMap, isNode, LineCounter, parseAllDocuments } from 'yaml';
import { ForeignFault, type ForeignFile, type SourcePlace } from './imported-policy.js';

export interface ForeignDocument {
  readonly value: unknown;
  /** Where a part is: a path of keys and indexes from the top. */
  readonly placeOf: (path: readonly (string | number)[]) => SourcePlace;
}

/** Throws `ForeignFault`. Empty documents are left out. */
export function readDocuments({ path: file, text }: ForeignFile): readonly ForeignDocument[] {
  const lines = new LineCounter();
  const found: ForeignDocument[] = [];
  for (const document of parseAllDocuments(text, { lineCounter: lines, prettyErrors: false })) {
    const lineAt = (offset: number): SourcePlace => ({ file, line: Math.max(lines.linePos(offset).line, 1) });
    const [error] = document.errors;
    if (error !== undefined) throw new ForeignFault(lineAt(error.pos[0]), error.message);
    let value: unknown;
    try {
      value = document.toJS();
    } catch (cause) {
      throw new ForeignFault(lineAt(document.range[0]), cause instanceof Error ? cause.message : 'cannot be read');
    }
    if (value === null || value === undefined) continue;
    const placeOf = (path: readonly (string | number)[]): SourcePlace => {
      // The parts of an alias are where its anchor is, so the nearest part around it is named.
      for (let length = path.length; length > 0; length -= 1) {
        const node: unknown = document.getIn(path.slice(0, length), true);
        if (isNode(node) && node.range) return lineAt(node.range[0]);
      }
      const { contents } = document;
      return lineAt(isMap(contents) ? contents.range[0] : document.range[0]);
    };
    found.push({ value, placeOf });
  }
  return found;
}

export type DocumentFields = Readonly<Record<string, unknown>>;

export function isFields(value: unknown): value is DocumentFields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A list of strings; absent and null are empty. Throws `ForeignFault`. */
export function textsOf(value: unknown, place: SourcePlace, what: string): readonly string[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw new ForeignFault(place, `${what} must be a list of strings`);
  const list: readonly unknown[] = value;
  return list.map((one) => textOf(one, place, what));
}

export function textOf(value: unknown, place: SourcePlace, what: string): string {
  if (typeof value === 'string' && value !== '') return value;
  if (value === '') return '';
  throw new ForeignFault(place, `${what} must be a string`);
}

export function listOf(value: unknown, place: SourcePlace, what: string): readonly unknown[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw new ForeignFault(place, `${what} must be a list`);
  return value;
}
