// How a verb is declared: what it takes, in the forms that its help shows, and what its help has besides. The values that it
// is given have their types from these forms.
import { Argument, type Command, Option } from 'commander';
import { flagOf, type SettingFlags, type SettingName } from '../config/index.js';
import { type Answer, type CliIo, print } from './io.js';

/** What is said of an argument or an option; names of other options are commander's. */
export interface Rule {
  readonly about: string;
  /** Whether the verb needs the option. Names mean that one of the options with these names can replace it. */
  readonly needed?: 'always' | { readonly unless: readonly string[] };
  readonly excludes?: readonly string[];
  readonly choices?: readonly string[];
  /** The value without the option. */
  readonly usual?: string;
  readonly repeated?: true;
  readonly parse?: (text: string) => unknown;
  readonly hidden?: true;
  /** The heading above the option in the help. */
  readonly group?: string;
}

/**
 * Arguments such as `<file>` or `[file]` and options such as `--at <instant>`, in the order of the help; a text says what
 * they are.
 */
export type Takes = Readonly<Record<string, string | Rule>>;

type Camel<N extends string> = N extends `${infer A}-${infer B}` ? `${A}${Capitalize<Camel<B>>}` : N;

type NameOf<F extends string> = F extends `${string}, ${infer Long}`
  ? NameOf<Long>
  : F extends `--no-${infer N}`
    ? Camel<N>
    : F extends `--${infer N} ${string}`
      ? Camel<N>
      : F extends `--${infer N}`
        ? Camel<N>
        : F extends `<${infer N}...>`
          ? N
          : F extends `<${infer N}>` | `[${infer N}]`
            ? N
            : never;

type OneOf<F extends string, R> = R extends { readonly parse: (text: string) => infer V }
  ? V
  : R extends { readonly choices: readonly (infer C)[] }
    ? C
    : F extends `--${string}[${string}`
      ? string | true
      : F extends `${string}<${string}` | `[${string}`
        ? string
        : F extends `--no-${string}`
          ? boolean
          : true;

type ValueOf<F extends string, R> = R extends { readonly repeated: true }
  ? readonly OneOf<F, R>[]
  : F extends `${string}...>`
    ? readonly OneOf<F, R>[]
    : OneOf<F, R>;

type IsSure<F extends string, R> = F extends `<${string}`
  ? true
  : R extends { readonly needed: 'always' } | { readonly usual: string }
    ? true
    : false;

/** The values by the names of arguments, and by commander's names of options. */
export type Given<T extends Takes> = {
  readonly [F in keyof T & string as IsSure<F, T[F]> extends true ? NameOf<F> : never]: ValueOf<F, T[F]>;
} & {
  readonly [F in keyof T & string as IsSure<F, T[F]> extends true ? never : NameOf<F>]?: ValueOf<F, T[F]>;
};

/** Keeps the forms and values as types. */
export function takes<const T extends Takes>(all: T): T {
  return all;
}

/** The verb needs it, always or unless one of others is given. */
export function required(about: string): Rule & { readonly needed: 'always' };
export function required(about: string, ...unless: readonly string[]): Rule;
export function required(about: string, ...unless: readonly string[]): Rule {
  return { about, needed: unless.length === 0 ? 'always' : { unless } };
}

/** It may be repeated: all its values count. */
export function repeated(about: string): Rule & { readonly repeated: true } {
  return { about, repeated: true };
}

export function excluding(about: string, ...excludes: readonly string[]): Rule {
  return { about, excludes };
}

/** commander reports one mistake at a time; program.ts reports all that break a rule at once. */
export class RuledOption extends Option {
  readonly rule: Rule;

  constructor(form: string, rule: Rule) {
    super(form, rule.about);
    this.rule = rule;
    const { choices, usual, parse, group } = rule;
    if (choices !== undefined) this.choices(choices);
    if (usual !== undefined) this.default(usual);
    const one = parse ?? this.parseArg;
    if (rule.repeated === true)
      // One value at a time: an option with several values would take an argument for one of them.
      this.argParser((text, before?: readonly unknown[]) => [...(before ?? []), one?.(text, undefined) ?? text]);
    else if (parse !== undefined) this.argParser(parse);
    if (rule.hidden === true) this.hideHelp();
    if (group !== undefined || rule.needed !== undefined) this.helpGroup(group ?? 'Required options:');
  }
}

/** What the help of a verb has besides, and what else the verb can be told. */
interface Beside {
  /** Of a verb below another one; the others have theirs in verbs.ts. */
  readonly description?: string;
  /** Flags of settings; `configOf` reads them together with environment and file. */
  readonly settings?: readonly SettingName[];
  /** Command lines by what they do. */
  readonly examples?: Readonly<Record<string, string>>;
  /** The object that `--format json` prints, in lines. */
  readonly json?: readonly string[];
  readonly verbs?: Readonly<Record<string, Define>>;
}

export type Define = (command: Command, io: CliIo) => void;

/** What it resolves to is printed in the format that was asked for. */
type Run<T extends Takes> = (
  io: CliIo,
  given: Given<T> & SettingFlags,
  command: Command,
) => Promise<Answer> | Promise<void>;

export function verb<T extends Takes>(taken: T, run: Run<T>, beside: Beside): Define {
  return (command, io) => {
    for (const [form, told] of Object.entries(taken)) {
      const rule = typeof told === 'string' ? { about: told } : told;
      if (form.startsWith('-')) command.addOption(new RuledOption(form, rule));
      else command.addArgument(argumentOf(form, rule));
    }
    for (const name of beside.settings ?? []) {
      const { flags, description } = flagOf(name);
      command.addOption(new Option(flags, description));
    }
    command.action(async () => {
      const given = { ...argumentsOf(command), ...command.opts<Given<T> & SettingFlags>() };
      const answer = await run(io, given, command);
      if (answer !== undefined) await print(io, String(command.getOptionValue('format')), answer);
    });
    group(beside)(command, io);
  };
}

/** A verb that only has others below it. */
export function group({ description, verbs = {}, examples, json }: Beside): Define {
  return (command, io) => {
    if (description !== undefined) command.description(description);
    for (const [name, define] of Object.entries(verbs)) define(command.command(name), io);
    const lines = Object.entries(examples ?? {}).map(([what, line]) => `  # ${what}\n  $ ${line}`);
    if (lines.length > 0) command.addHelpText('after', `\nExamples:\n${lines.join('\n')}`);
    if (json !== undefined)
      command.addHelpText('after', `\nWith --format json:\n${json.map((line) => `  ${line}`).join('\n')}`);
  };
}

function argumentOf(form: string, { about, choices, usual }: Rule): Argument {
  const argument = new Argument(form, about);
  if (choices !== undefined) argument.choices(choices);
  return usual === undefined ? argument : argument.default(usual);
}

function argumentsOf({ registeredArguments, processedArgs }: Command): Readonly<Record<string, unknown>> {
  const values: readonly unknown[] = processedArgs;
  return Object.fromEntries(registeredArguments.map((argument, i) => [argument.name(), values[i]]));
}
