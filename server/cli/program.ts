// The command line as a tree: every verb in its group, the help for everything, and what all verbs have in common.
import { Command } from 'commander';
import { nearest } from '../../engine/index.js';
import { EXIT_MEANINGS, usage } from './exit.js';
import { PEER_VERBS } from './peer-verbs.js';
import { type CliIo, write } from './io.js';
import { programVersion } from '../lib/version.js';
import { RuledOption } from './verb.js';
import { VERB_GROUPS } from './verbs.js';

const SEE_HELP = 'see `bailiwick help`';
const HELP = '`bailiwick help <verb>` shows its arguments, options and examples.';

/** The command line with all verbs listed. Only the verbs that `argv` is about are defined. */
export async function makeProgram(io: CliIo, argv: readonly string[]): Promise<Command> {
  const program = new Command('bailiwick')
    .description(
      'Policy as data, compiled into decision tables, and a gateway whose queries return only what the actor may see.',
    )
    .version(programVersion(), '--version', 'print the version')
    .exitOverride()
    .showSuggestionAfterError(false)
    .usage('<verb> [options]')
    .helpOption('-h, --help', 'show help')
    .configureOutput({
      writeOut: (text) => void io.stdout.write(text),
      writeErr: (text) => void io.stderr.write(text),
      // Errors are shown by main.ts, in our words and with what the user typed escaped.
      outputError: () => undefined,
    })
    // With arguments in the list there would be no room for descriptions on 80 columns.
    .configureHelp({ subcommandTerm: (command) => command.name() })
    .helpCommand(false)
    .addHelpText('after', `\n${HELP}\n${statusTable()}`)
    .hook('preAction', (_, verb) => {
      refuseMisuse(verb);
    });
  for (const { title, verbs } of VERB_GROUPS) {
    program.commandsGroup(title);
    for (const { name, description, load } of verbs) {
      const command = program.command(name).description(description);
      if (isAbout(argv, name)) (await load())(command, io);
      refuseTogether(command);
    }
  }
  addHelp(program, io);
  return program;
}

/** Completion is about every verb, help about the one after it. */
function isAbout(argv: readonly string[], verb: string): boolean {
  const [first, second] = argv.filter((word) => !word.startsWith('-'));
  return first === verb || first === 'completion' || (first === 'help' && second === verb);
}

/** The command that the words of a command line name, as far as they do, and its path such as `keys create`. */
export function verbOf(
  program: Command,
  argv: readonly string[],
): { readonly command: Command; readonly path: string } {
  const names: string[] = [];
  let command = program;
  for (const name of argv) {
    const found = command.commands.find((candidate) => candidate.name() === name);
    if (found === undefined) break;
    command = found;
    names.push(name);
  }
  return { command, path: names.join(' ') };
}

/** commander finds a missing argument before it calls the hook. Everything else that is missing is reported with it. */
function refuseTogether(command: Command): void {
  command.exitOverride((error) => {
    if (error.code === 'commander.missingArgument') refuseMisuse(command);
    throw error;
  });
  for (const inner of command.commands) refuseTogether(inner);
}

/** Reports all missing arguments and options and all options that exclude one another, at once. */
function refuseMisuse(verb: Command): void {
  const isGiven = (name: string): boolean => verb.getOptionValue(name) !== undefined;
  const ruled = verb.options.filter((option) => option instanceof RuledOption);
  const missing = [
    ...verb.registeredArguments.filter(({ required }, index) => required && verb.args[index] === undefined),
    ...ruled.filter((option) => !isGiven(option.attributeName()) && isNeeded(option, isGiven)),
  ].map((one) => `\`${one instanceof RuledOption ? one.flags : `<${one.name()}>`}\``);
  const faults = [
    ...(missing.length === 0 ? [] : [`${missing.join(', ')} ${missing.length === 1 ? 'is' : 'are'} missing`]),
    ...ruled.filter((option) => isGiven(option.attributeName())).flatMap((option) => clashes(verb, option, isGiven)),
  ];
  if (faults.length > 0) throw usage(faults.join('; '), `see \`bailiwick help ${pathOf(verb)}\``);
}

type IsGiven = (name: string) => boolean;

function isNeeded({ rule: { needed } }: RuledOption, isGiven: IsGiven): boolean {
  return needed !== undefined && (needed === 'always' || !needed.unless.some(isGiven));
}

function clashes(verb: Command, { flags, rule: { excludes = [] } }: RuledOption, isGiven: IsGiven): readonly string[] {
  const others = verb.options.filter((option) => {
    const name = option.attributeName();
    return excludes.includes(name) && isGiven(name);
  });
  if (others.length === 0) return [];
  return [`\`${flags}\` cannot be used with ${others.map((option) => `\`${option.flags}\``).join(', ')}`];
}

function pathOf(verb: Command): string {
  const parent = verb.parent === null || verb.parent.parent === null ? '' : `${pathOf(verb.parent)} `;
  return `${parent}${verb.name()}`;
}

function addHelp(program: Command, io: CliIo): void {
  program
    .command('help')
    .description('show the help of a verb, or of policy, guardrails or queries')
    .argument('[verb...]')
    .action(async (verbs: readonly string[]) => {
      const { TOPIC_NAMES, topicText } = await import('./topics.js');
      const topic = verbs.length === 1 ? topicText(verbs[0] ?? '') : null;
      if (topic !== null) {
        await write(io.stdout, topic);
        return;
      }
      const { command, path } = verbOf(program, verbs);
      const unknown = verbs[path === '' ? 0 : path.split(' ').length];
      if (unknown !== undefined) {
        const known = [...(path === '' ? TOPIC_NAMES : []), ...command.commands.map((verb) => verb.name())];
        // `policies` and `query` differ from `policy` and `queries` by more letters than a slip would.
        const alike = known.find((name) => name.slice(0, 4) === unknown.slice(0, 4));
        const help = alike === undefined ? SEE_HELP : `did you mean \`${alike}\`?`;
        const ours = path === '' && alike === undefined ? PEER_VERBS.get(unknown) : undefined;
        throw usage(
          `there is no help about \`${verbs.join(' ')}\``,
          ours === undefined ? didYouMean(unknown, known, help) : `see \`bailiwick help ${ours}\``,
        );
      }
      command.outputHelp();
    });
}

/**
 * The name that was probably meant, or else where to look. Dashes of options do not count: with them all short names
 * look alike.
 */
export function didYouMean(typed: string, names: readonly string[], otherwise: string): string {
  const near = nearest(
    typed.replace(/^--/, ''),
    names.map((name) => name.replace(/^--/, '')),
  );
  return near === null ? otherwise : `did you mean \`${typed.startsWith('--') ? '--' : ''}${near}\`?`;
}

function statusTable(): string {
  return `\nExit status:\n${[...EXIT_MEANINGS].map(([status, meaning]) => `  ${String(status)}  ${meaning}`).join('\n')}`;
}
