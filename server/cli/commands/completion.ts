// `bailiwick completion <shell>`: a script with which a shell completes verbs, options and their values. It is made
// from the same table of commands as the help.
import type { Command } from 'commander';
import { write } from '../io.js';
import { takes, verb } from '../verb.js';

const TAKES = takes({ '<shell>': { about: 'shell that the script is for', choices: ['bash', 'zsh', 'fish'] } });

export const defineCompletion = verb(
  TAKES,
  (io, { shell }, command) => write(io.stdout, SCRIPTS[shell](wordsOf(command.parent ?? command, ''))),
  {
    examples: {
      'in this bash': 'source <(bailiwick completion bash)',
      'for every zsh': 'bailiwick completion zsh > "${fpath[1]}/_bailiwick"',
      'for every fish': 'bailiwick completion fish > ~/.config/fish/completions/bailiwick.fish',
    },
  },
);

/** What may follow a verb. The verb is empty for the program itself. */
interface CompletionEntry {
  readonly verb: string;
  readonly description: string;
  readonly verbs: readonly string[];
  readonly options: readonly {
    readonly long: string;
    readonly description: string;
    readonly values: readonly string[];
  }[];
  /** The values of its first argument, if they are known. */
  readonly values: readonly string[];
}

function wordsOf(command: Command, verb: string): readonly CompletionEntry[] {
  const inner = command.commands.flatMap((one) => wordsOf(one, verb === '' ? one.name() : `${verb} ${one.name()}`));
  const options = command.options
    .filter(({ hidden, long }) => !hidden && long !== undefined)
    .map(({ long, description, argChoices }) => ({ long: long ?? '', description, values: argChoices ?? [] }));
  const own = {
    verb,
    description: command.description(),
    verbs: command.commands.map((one) => one.name()),
    options: [...options, { long: '--help', description: 'show help', values: [] }],
    values: command.registeredArguments[0]?.argChoices ?? [],
  };
  return [own, ...inner];
}

/** Cases of a shell: what follows each verb, and the values of each option. The rest are file names. */
function casesOf(all: readonly CompletionEntry[]): string {
  const lists = all.flatMap(({ verb, verbs, options, values }) => [
    `    '${verb} -') list='${options.map(({ long }) => long).join(' ')}' ;;`,
    ...(verbs.length + values.length === 0 ? [] : [`    '${verb}') list='${[...verbs, ...values].join(' ')}' ;;`]),
    ...options
      .filter((option) => option.values.length > 0)
      .map((option) => `    '${verb} ${option.long}') list='${option.values.join(' ')}' ;;`),
  ]);
  return lists.join('\n');
}

const nestedOf = (all: readonly CompletionEntry[]): string =>
  all
    .filter(({ verb, verbs }) => verb !== '' && verbs.length > 0)
    .map(({ verb }) => verb)
    .join('|');

const optionsWithValues = (all: readonly CompletionEntry[]): string =>
  [
    ...new Set(all.flatMap(({ options }) => options.filter(({ values }) => values.length > 0).map(({ long }) => long))),
  ].join('|');

/** Sets `list` from `verb`, `prev` and `cur`, in words that bash and zsh share. */
function sharedScript(all: readonly CompletionEntry[]): string {
  return `  local key=$verb list=
  case "$prev" in ${optionsWithValues(all)}) key="$verb $prev" ;; *) case "$cur" in -*) key="$verb -" ;; esac ;; esac
  case "$key" in
${casesOf(all)}
  esac`;
}

function bashScript(all: readonly CompletionEntry[]): string {
  return `# bash completion of bailiwick: source <(bailiwick completion bash)
_bailiwick() {
  local cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD-1]} verb=
  [ "$COMP_CWORD" -gt 1 ] && verb=\${COMP_WORDS[1]}
  case "$verb" in ${nestedOf(all)}) [ "$COMP_CWORD" -gt 2 ] && verb="$verb \${COMP_WORDS[2]}" ;; esac
${sharedScript(all)}
  COMPREPLY=($(compgen -W "$list" -- "$cur"))
}
complete -o default -F _bailiwick bailiwick
`;
}

function zshScript(all: readonly CompletionEntry[]): string {
  return `#compdef bailiwick
_bailiwick() {
  local cur=\${words[CURRENT]} prev=\${words[CURRENT-1]} verb= second=\${words[3]}
  [ "$CURRENT" -gt 2 ] && verb=\${words[2]}
  case "$verb" in ${nestedOf(all)}) [ "$CURRENT" -gt 3 ] && verb="$verb $second" ;; esac
${sharedScript(all)}
  if [ -n "$list" ]; then compadd -- \${=list}; else _files; fi
}
if [ "$funcstack[1]" = _bailiwick ]; then _bailiwick "$@"; else compdef _bailiwick bailiwick; fi
`;
}

function fishScript(all: readonly CompletionEntry[]): string {
  const lines = all.flatMap(({ verb, verbs, options, values }) => {
    const names = verb.split(' ').filter((name) => name !== '');
    const conditions = names.map((name) => `__fish_seen_subcommand_from ${name}`);
    const own = [...conditions, ...(verbs.length === 0 ? [] : [`not __fish_seen_subcommand_from ${verbs.join(' ')}`])];
    const when = quote(own.join('; and '));
    const describe = (name: string): string =>
      quote(all.find((one) => one.verb === [...names, name].join(' '))?.description ?? '');
    return [
      ...verbs.map((name) => `complete -c bailiwick -n ${when} -f -a ${name} -d ${describe(name)}`),
      ...(values.length === 0 ? [] : [`complete -c bailiwick -n ${when} -f -a ${quote(values.join(' '))}`]),
      ...options.map(({ long, description, values: choices }) => {
        const value = choices.length === 0 ? '' : ` -x -a ${quote(choices.join(' '))}`;
        return `complete -c bailiwick -n ${when} -l ${long.slice(2)} -d ${quote(description)}${value}`;
      }),
    ];
  });
  return `# fish completion of bailiwick\n${lines.join('\n')}\n`;
}

const SCRIPTS = { bash: bashScript, zsh: zshScript, fish: fishScript };

function quote(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}
