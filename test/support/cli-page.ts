// The generated part of docs/cli.md: the settings as in their table, and every verb with what `bailiwick help` prints
// for it.
import type { Command } from 'commander';
import { makeProgram } from '../../server/cli/program.js';
import { writtenText } from '../../server/config/index.js';
import { ROWS } from '../../server/config/settings.js';
import { makeIo } from './cli-io.js';
import { runCli } from './run-cli.js';

/** Everything below the mark. */
export async function commandsMarkdown(): Promise<string> {
  await runCli(['version']);
  // Completion is about every verb, so all of them are defined.
  const program = await makeProgram(makeIo().io, ['completion']);
  const verbs = program.commands.filter((verb) => verb.name() !== 'help');
  const groups = [...new Set(verbs.map((verb) => verb.helpGroup()))];
  const parts = groups.map((title) =>
    groupMarkdown(
      title,
      verbs.filter((verb) => verb.helpGroup() === title),
    ),
  );
  return [settingsMarkdown(), ...(await Promise.all(parts))].join('\n\n');
}

function settingsMarkdown(): string {
  const code = (text: string): string => `\`${text}\``;
  const rows = ROWS.map(({ key, flag, env, setting, holds }) => {
    const names = [...(flag === null ? [] : [flag.long]), ...env].map(code).join(', ');
    const usual = setting.default === undefined || holds !== 'value' ? '' : code(writtenText(setting.default));
    const [about, values] =
      holds === 'value' ? [setting.doc, setting.type.words] : ['a file that holds the value', 'a path'];
    return `| ${code(key)} | ${names} | ${values} | ${usual} | ${about} |`;
  });
  return [
    '| In the file | Flag and variables | Values | Default | What it is |',
    '|---|---|---|---|---|',
    ...rows,
  ].join('\n');
}

async function groupMarkdown(title: string, verbs: readonly Command[]): Promise<string> {
  const sections: string[] = [];
  for (const verb of verbs) {
    const inner = verb.commands.map((command) => command.name()).filter((name) => name !== 'help');
    for (const name of [verb.name(), ...inner.map((one) => `${verb.name()} ${one}`)])
      sections.push(
        `### ${name}\n\n\`\`\`text\n${(await runCli(['help', ...name.split(' ')])).stdout.trimEnd()}\n\`\`\``,
      );
  }
  return [`## ${title.replace(/:$/, '')}`, ...sections].join('\n\n');
}
