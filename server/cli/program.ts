// The command line as a tree: every verb in its group, the help of the whole, and what all verbs have in common.
import { Command } from 'commander';
import { registerCheck } from './commands/check.js';
import { registerCodes } from './commands/codes.js';
import { registerCompile } from './commands/compile.js';
import { registerCompletion } from './commands/completion.js';
import { registerConfig } from './commands/config.js';
import { registerDecide } from './commands/decide.js';
import { registerDiff } from './commands/diff.js';
import { registerExplain } from './commands/explain.js';
import { registerExport } from './commands/export.js';
import { registerFmt } from './commands/fmt.js';
import { registerInit } from './commands/init.js';
import { registerInspect } from './commands/inspect.js';
import { registerKeygen } from './commands/keygen.js';
import { registerKeys } from './commands/keys.js';
import { registerLoad } from './commands/load.js';
import { registerLocal } from './commands/local.js';
import { registerMigrate } from './commands/migrate.js';
import { registerSchema } from './commands/schema.js';
import { registerServe } from './commands/serve.js';
import { registerSign } from './commands/sign.js';
import { registerTest } from './commands/test.js';
import { registerVerify } from './commands/verify.js';
import { registerVersion } from './commands/version.js';
import { registerVisible } from './commands/visible.js';
import { registerWhatCan } from './commands/what-can.js';
import { registerWhoCan } from './commands/who-can.js';
import { EXIT, EXIT_MEANINGS } from './exit-codes.js';
import { CliFailure } from './failure.js';
import type { CliIo } from './io.js';
import { REQUIRED } from './options.js';
import { programVersion } from './version.js';

const HELP = '`bailiwick help <verb>` shows its arguments, options and examples.';

type Register = (program: Command, io: CliIo) => void;

/** In the order of the help text. */
const GROUPS: readonly (readonly [title: string, verbs: readonly Register[]])[] = [
  [
    'Author policies:',
    [registerInit, registerCheck, registerCompile, registerFmt, registerTest, registerCodes, registerSchema],
  ],
  [
    'Ask them:',
    [registerDecide, registerExplain, registerWhoCan, registerWhatCan, registerVisible, registerDiff, registerInspect],
  ],
  ['Publish them:', [registerVerify, registerKeygen, registerSign]],
  [
    'Operate a gateway:',
    [registerServe, registerLocal, registerMigrate, registerLoad, registerExport, registerKeys, registerConfig],
  ],
  ['This program:', [registerVersion, registerCompletion, registerHelp]],
];

export function makeProgram(io: CliIo): Command {
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
    // With their arguments in that list there would be no room for what they do, on 80 columns.
    .configureHelp({ subcommandTerm: (command) => command.name() })
    .helpCommand(false)
    .addHelpText('after', `\n${HELP}\n${statusTable()}`)
    .hook('preAction', (_, verb) => {
      refuseMissing(verb);
    });
  for (const [title, verbs] of GROUPS) {
    program.commandsGroup(title);
    for (const register of verbs) register(program, io);
  }
  return program;
}

/** The command that the words of a command line name, as far as they name one, and its path such as `keys create`. */
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

/** Every required option that is missing, at once. */
function refuseMissing(verb: Command): void {
  const missing = verb.options.filter(
    (option) => option.helpGroupHeading === REQUIRED && verb.getOptionValue(option.attributeName()) === undefined,
  );
  if (missing.length === 0) return;
  const named = missing.map(({ flags }) => `\`${flags}\``);
  const message = `${named.join(', ')} ${missing.length === 1 ? 'is' : 'are'} missing`;
  throw new CliFailure(EXIT.usage, { code: 'cli.usage', message }, { help: `see \`bailiwick help ${pathOf(verb)}\`` });
}

function pathOf(verb: Command): string {
  const parent = verb.parent === null || verb.parent.parent === null ? '' : `${pathOf(verb.parent)} `;
  return `${parent}${verb.name()}`;
}

function registerHelp(program: Command): void {
  program
    .command('help')
    .description('show the help of a verb')
    .argument('[verb...]')
    .action((verbs: readonly string[]) => {
      const { command, path } = verbOf(program, verbs);
      const unknown = verbs[path === '' ? 0 : path.split(' ').length];
      if (unknown !== undefined)
        throw new CliFailure(EXIT.usage, { code: 'cli.usage', message: `there is no verb \`${unknown}\`` });
      command.outputHelp();
    });
}

function statusTable(): string {
  return `\nExit status:\n${[...EXIT_MEANINGS].map(([status, meaning]) => `  ${String(status)}  ${meaning}`).join('\n')}`;
}
