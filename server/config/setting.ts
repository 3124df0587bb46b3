// What a row of the table of settings says, and the rows of a table by key. This file does not know which settings
// exist.
import type { ValueType, WrittenSetting } from './value-types.js';
import { isObject } from '../json/strict-json.js';

export type FileKind =
  | 'certificate'
  | 'private key'
  | 'authorities'
  | 'keyring'
  | 'signing key'
  | 'audit folder'
  | 'revocations'
  | 'secret'
  | 'signers'
  | 'value of a setting';

export interface SettingFacts {
  /** As the file would write it. Without a default, the value of a setting that is not set is null. */
  readonly default?: WrittenSetting;
  /**
   * In the form that commander takes. A flag without a value means `true`. A setting with a flag also has the variable
   * `BAILIWICK_<FLAG>`.
   */
  readonly flag?: `--${string} <${string}>` | `--${string}`;
  /** More variables, in addition to the one of the flag. */
  readonly env?: readonly string[];
  /** Its value is never printed. */
  readonly secret?: true;
  /** The value may also be read from a file named by `<key>File` or by the variable with `_FILE`. */
  readonly secretFile?: true;
  /** Settings with the same choice exclude one another: the nearest source that gives any of them decides. */
  readonly choice?: string;
  /** What is at this path. */
  readonly file?: FileKind;
  /** The key of another setting. Without that one, this one means nothing. */
  readonly needs?: string;
  /** One sentence without a full stop. Help, schema and the example file show it. */
  readonly doc: string;
  /** A value for the example file if there is no default. */
  readonly example?: string;
  /** The list or optional group that contains it cannot be without it. */
  readonly required?: true;
}

export type Setting<T, Facts extends SettingFacts = SettingFacts> = Facts & {
  readonly kind: 'setting';
  readonly type: ValueType<T>;
};

export interface SettingGroup<Members> {
  readonly kind: 'group';
  readonly doc: string;
  readonly members: Members;
}

/** A group that can occur in the file any number of times. It has neither flags nor variables. */
export interface List<Members> {
  readonly kind: 'list';
  readonly doc: string;
  readonly members: Members;
}

/** A group that is null unless the file has it. It has neither flags nor variables. */
export interface Optional<Members> {
  readonly kind: 'optional';
  readonly doc: string;
  readonly members: Members;
}

/** Settings and groups of settings, by their names in the file. */
export interface Table {
  readonly [name: string]: Setting<unknown> | SettingGroup<Table> | List<Table> | Optional<Table>;
}

/** The values of a table, nested in the same way. */
export type ValuesOf<T> = {
  readonly [Name in keyof T]: T[Name] extends SettingGroup<infer Members>
    ? ValuesOf<Members>
    : T[Name] extends List<infer Members>
      ? readonly ValuesOf<Members>[]
      : T[Name] extends Optional<infer Members>
        ? ValuesOf<Members> | null
        : T[Name] extends Setting<infer Value>
          ? ValueOf<T[Name], Value>
          : never;
};

type ValueOf<Of, Value> = Of extends { readonly required: true }
  ? Value
  : Of extends { readonly default: WrittenSetting }
    ? Value
    : Value | null;

/** What commander calls the flags of a table: `--data-dir <folder>` is `dataDir`. */
export type FlagNames<T> = {
  [Name in keyof T]: T[Name] extends SettingGroup<infer Members>
    ? FlagNames<Members>
    : T[Name] extends { readonly flag: `--${infer Flag} <${string}>` }
      ? CamelCase<Flag>
      : never;
}[keyof T];

/** The same for flags without a value. */
export type SwitchNames<T> = {
  [Name in keyof T]: T[Name] extends SettingGroup<infer Members>
    ? SwitchNames<Members>
    : T[Name] extends { readonly flag: `--${string} <${string}>` }
      ? never
      : T[Name] extends { readonly flag: `--${infer Flag}` }
        ? CamelCase<Flag>
        : never;
}[keyof T];

type CamelCase<Text extends string> = Text extends `${infer Head}-${infer Rest}`
  ? `${Head}${Capitalize<CamelCase<Rest>>}`
  : Text;

export function setting<T, const Facts extends SettingFacts>(type: ValueType<T>, facts: Facts): Setting<T, Facts> {
  return { kind: 'setting', type, ...facts };
}

export function group<Members>(doc: string, members: Members): SettingGroup<Members> {
  return { kind: 'group', doc, members };
}

export function list<Members>(doc: string, members: Members): List<Members> {
  return { kind: 'list', doc, members };
}

export function optional<Members>(doc: string, members: Members): Optional<Members> {
  return { kind: 'optional', doc, members };
}

/** One setting of a table, and where it can be given. */
export interface SettingRow {
  /** As in the file: `limits.rate.perActor`. */
  readonly key: string;
  readonly setting: Setting<unknown>;
  /** Such as `--data-dir`, and commander's name for it; null without a flag. */
  readonly flag: { readonly long: string; readonly name: string } | null;
  /** The first one that is set counts. */
  readonly env: readonly string[];
  /** Rows with the same choice exclude one another. */
  readonly choice: string;
  /** Whether the row holds the value, or the path of a file with the value. */
  readonly holds: 'value' | 'path of the value';
}

/**
 * Every setting of a table, in order. A setting with `secretFile` has a second row. Lists and optional groups have rows
 * for what `document` contains of them.
 */
export function rowsOf(table: Table, document: unknown, prefix = ''): readonly SettingRow[] {
  return Object.entries(table).flatMap(([name, member]): readonly SettingRow[] => {
    const key = prefix + name;
    const part = memberOf(document, name);
    switch (member.kind) {
      case 'setting':
        return rowsOfSetting(key, member);
      case 'list':
        return itemsOf(part).flatMap((item, index) => rowsOf(member.members, item, `${key}.${String(index)}.`));
      case 'optional':
        return isObject(part) ? rowsOf(member.members, part, `${key}.`) : [];
      case 'group':
        return rowsOf(member.members, part, `${key}.`);
    }
  });
}

/** The values of a table's rows, nested as the table is. Frozen. */
export function nest(table: Table, document: unknown, valueOf: (key: string) => unknown): object {
  const nested = Object.entries(table).map(([name, member]): readonly [string, unknown] => {
    const part = memberOf(document, name);
    const inner = (prefix: string) => (key: string) => valueOf(`${name}.${prefix}${key}`);
    switch (member.kind) {
      case 'setting':
        return [name, valueOf(name)];
      case 'list': {
        const items = itemsOf(part).map((item, index) => nest(member.members, item, inner(`${String(index)}.`)));
        return [name, Object.freeze(items)];
      }
      case 'optional':
        return [name, isObject(part) ? nest(member.members, part, inner('')) : null];
      case 'group':
        return [name, nest(member.members, part, inner(''))];
    }
  });
  return Object.freeze(Object.fromEntries(nested));
}

function itemsOf(document: unknown): readonly unknown[] {
  return Array.isArray(document) ? document : [];
}

/** What a document has under a name; undefined if it has nothing. */
export function memberOf(document: unknown, name: string): unknown {
  if (Array.isArray(document)) return document[Number(name)];
  return isObject(document) ? new Map<string, unknown>(Object.entries(document)).get(name) : undefined;
}

export function rowsOfSetting(key: string, setting: Setting<unknown>): readonly SettingRow[] {
  const long = setting.flag?.split(' ')[0] ?? null;
  const flag = long === null ? null : { long, name: camelCase(long.slice(2)) };
  const env = [...(long === null ? [] : [variableOf(long)]), ...(setting.env ?? [])];
  const row: SettingRow = { key, setting, flag, env, choice: setting.choice ?? key, holds: 'value' };
  if (setting.secretFile === undefined) return [row];
  const fileRow: SettingRow = {
    ...row,
    key: `${key}File`,
    flag: null,
    env: env.map((variable) => `${variable}_FILE`),
    holds: 'path of the value',
  };
  return [row, fileRow];
}

function variableOf(flag: string): string {
  return `BAILIWICK_${flag.slice(2).replaceAll('-', '_').toUpperCase()}`;
}

function camelCase(name: string): string {
  return name.replaceAll(/-([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
