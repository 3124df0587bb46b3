// What a row of the table of settings says, and the rows of a table by their keys. Refuses to know which settings there are.
import type { ValueType, Written } from './value-types.js';

export interface SettingFacts {
  /** As the file would write it; null: not set, and the value is null. */
  readonly default: Written | null;
  /** As commander takes it; one without a value stands for `true`. A setting with a flag has the variable `BAILIWICK_<FLAG>`, too. */
  readonly flag?: `--${string} <${string}>` | `--${string}`;
  /** More variables, beside the one of the flag. */
  readonly env?: readonly string[];
  /** Its value is never printed. */
  readonly secret?: true;
  /** It may also be read from a file, which `<key>File` or the variable with `_FILE` names. */
  readonly secretFile?: true;
  /** Settings with the same choice exclude one another: the nearest source that gives any of them decides. */
  readonly choice?: string;
  /** Key of another setting without which this one means nothing. */
  readonly needs?: string;
  /** One sentence without a stop: help, schema and the example file show it. */
  readonly doc: string;
  /** A value for the example file, where there is no default. */
  readonly example?: string;
}

export type Setting<T, Facts extends SettingFacts = SettingFacts> = Facts & {
  readonly kind: 'setting';
  readonly type: ValueType<T>;
};

export interface Group<Members> {
  readonly kind: 'group';
  readonly doc: string;
  readonly members: Members;
}

/** Documented and not there yet: who sets it must not believe that it has an effect. */
export interface Later {
  readonly kind: 'later';
  readonly env: readonly string[];
}

/** Settings and groups of them by the names that the file gives them. */
export interface Table {
  readonly [name: string]: Setting<unknown> | Group<Table> | Later;
}

/** The values of a table, nested as it is. */
export type ValuesOf<T> = {
  readonly [Name in keyof T as T[Name] extends Later ? never : Name]: T[Name] extends Group<infer Members>
    ? ValuesOf<Members>
    : T[Name] extends Setting<infer Value>
      ? T[Name] extends { readonly default: null }
        ? Value | null
        : Value
      : never;
};

/** What commander calls the flags of a table: `--data-dir <folder>` is `dataDir`. */
export type FlagNames<T> = {
  [Name in keyof T]: T[Name] extends Group<infer Members>
    ? FlagNames<Members>
    : T[Name] extends { readonly flag: `--${infer Flag} <${string}>` }
      ? CamelCase<Flag>
      : never;
}[keyof T];

/** The same of flags without a value. */
export type SwitchNames<T> = {
  [Name in keyof T]: T[Name] extends Group<infer Members>
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

export function group<Members>(doc: string, members: Members): Group<Members> {
  return { kind: 'group', doc, members };
}

export function later(...env: readonly string[]): Later {
  return { kind: 'later', env };
}

/** One setting of a table, and where it is said. */
export interface Row {
  /** As the file has it: `limits.rate.perActor`. */
  readonly key: string;
  readonly setting: Setting<unknown>;
  /** Such as `--data-dir`, and what commander calls it; null without a flag. */
  readonly flag: { readonly long: string; readonly name: string } | null;
  /** The first that is set counts. */
  readonly env: readonly string[];
  /** Rows with the same choice exclude one another. */
  readonly choice: string;
  /** `file`: what is written is the path of a file with the value. */
  readonly holds: 'value' | 'path of the value';
}

/** Every setting of a table in its order; one with `secretFile` has a second row. */
export function rowsOf(table: Table, prefix = ''): readonly Row[] {
  return Object.entries(table).flatMap(([name, member]): readonly Row[] => {
    const key = prefix + name;
    if (member.kind === 'group') return rowsOf(member.members, `${key}.`);
    return member.kind === 'later' ? [] : rowsOfSetting(key, member);
  });
}

/** Keys and variables of what is not there yet. */
export function laterNames(table: Table, prefix = ''): readonly string[] {
  return Object.entries(table).flatMap(([name, member]): readonly string[] => {
    const key = prefix + name;
    if (member.kind === 'group') return laterNames(member.members, `${key}.`);
    return member.kind === 'later' ? [key, ...member.env] : [];
  });
}

export function rowsOfSetting(key: string, setting: Setting<unknown>): readonly Row[] {
  const long = setting.flag?.split(' ')[0] ?? null;
  const flag = long === null ? null : { long, name: camelCase(long.slice(2)) };
  const env = [...(long === null ? [] : [variableOf(long)]), ...(setting.env ?? [])];
  const row: Row = { key, setting, flag, env, choice: setting.choice ?? key, holds: 'value' };
  if (setting.secretFile === undefined) return [row];
  const fileRow: Row = {
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
