// `bailiwick init [dir]`: a new policy folder with a test, editor schemas and a README. It is the smallest policy that
// shows every section, passes `check`, and gets no lint warnings. Never touches a folder that has anything in it except
// hidden files, such as a fresh clone.
import { readdir, writeFile } from 'node:fs/promises';
import { makeFolder } from '../../lib/whole-file.js';
import { codeOf } from '../../policy/policy-fault.js';
import { basename, dirname, join } from 'node:path';
import { CliFailure, EXIT } from '../exit.js';
import { type CliIo, pathOf, print, write } from '../io.js';
import { formats } from '../options.js';
import { nameFrom } from '../name-from.js';
import { escapeText } from '../render/escape.js';
import { linesText } from '../render/text.js';
import { schemaFiles, schemaLine } from './schema.js';
import { type Given, takes, verb } from '../verb.js';

const TAKES = takes({
  '[dir]': { about: 'a folder that is empty or does not exist yet; hidden files may be in it', usual: '.' },
  ...formats(),
});

export const defineInit = verb(TAKES, init, {
  examples: { 'a policy to begin with': 'bailiwick init policies', 'then check it': 'bailiwick check policies' },
});

/** Where `schemaFiles` are. */
const SCHEMAS = '.schema';

async function init(io: CliIo, { dir, format }: Given<typeof TAKES>): Promise<void> {
  const folder = pathOf(io, dir);
  const unusable = (code: string, message: string): CliFailure =>
    new CliFailure(EXIT.usage, code, message, { help: 'name a folder that is empty or does not exist yet' });
  const present = await readdir(folder).catch((error: unknown) => {
    const code = codeOf(error);
    if (code === 'ENOENT') return [];
    if (code === 'ENOTDIR') throw unusable('cli.not_a_folder', `\`${dir}\` is not a folder, or is below a file`);
    throw unusable('cli.unreadable', `\`${dir}\` cannot be read (${code})`);
  });
  if (present.some((name) => !name.startsWith('.') || name === SCHEMAS))
    throw unusable('cli.not_empty', `\`${dir}\` is not empty`);
  const files = starterFiles(basename(folder));
  try {
    for (const [path, text] of files) {
      await makeFolder(dirname(join(folder, path)));
      // Fails if a file has appeared there in the meantime, rather than overwriting it.
      await writeFile(join(folder, path), text, { flag: 'wx' });
    }
  } catch (error) {
    const message = `\`${dir}\` cannot be written (${codeOf(error)})`;
    throw new CliFailure(EXIT.usage, 'cli.unwritable', message, { cause: error });
  }
  const paths = [...files.keys()];
  await print(io, format, { json: () => ({ folder: dir, files: paths }), text: () => linesText(paths) });
  if (format === 'text') await write(io.stderr, `next: bailiwick check ${escapeText(dir)}\n`);
}

/** The texts by path. `name` is the name of the folder. */
function starterFiles(name: string): ReadonlyMap<string, string> {
  const made = nameFrom(name);
  const policyName = made === null || /^[0-9.]+$/.test(made) ? 'policy' : made;
  const policies = new Map<string, string>([
    ['policy.yaml', `bailiwick: 1\nname: ${policyName}\nproviders:\n  orcid: { description: ORCID sign-in }\n`],
    [
      'roles/staff.yaml',
      '# Who belongs together. A role may have other roles as members: { role: name }\nroles:\n  optics-staff:\n    description: Staff of the optics laboratory\n    members:\n      - orcid:0000-0002-1825-0097 # the example of ORCID itself; put yours here\n',
    ],
    [
      'grants/optics.yaml',
      '# Who may do what where. Every grant of this file stays at or below this namespace.\nwithin: /labs/optics\ngrants:\n  - id: optics-staff\n    role: optics-staff\n    scopes: [namespace:read, resource:*, process-run:*]\n    namespace: /labs/optics\n    reason: They keep the records of their own laboratory\n',
    ],
    [
      'guardrails/root.yaml',
      '# What must never become true, whoever edits the grants.\nguardrails:\n  - id: nobody-writes-everywhere\n    atMost: { identities: 0, scopes: ["*:write"], at: / }\n',
    ],
    [
      'tests/optics.yaml',
      '# Examples of both answers, run by `bailiwick check`, `compile` and `test`.\ntests:\n  - name: staff write in their laboratory and nowhere else\n    actor: { identities: [orcid:0000-0002-1825-0097] }\n    allow: [resource:write /labs/optics/run-7, process-run:read /labs/optics]\n    deny: [resource:read /labs, resource:write /labs/lasers]\n',
    ],
  ]);
  return new Map([
    ...[...policies].map(([path, text]): [string, string] => [path, `${schemaLine(path)}\n${text}`]),
    ...schemaFiles(),
    ['README.md', readme(policyName)],
  ]);
}

function readme(name: string): string {
  return `# The policy \`${name}\`

| Folder | Holds |
|---|---|
| \`policy.yaml\` | the name, and the providers that identities may come from |
| \`roles/\` | who belongs together |
| \`grants/\` | who may do what where; \`within\` binds a whole file to a part of the tree |
| \`guardrails/\` | what must never become true |
| \`tests/\` | examples of both answers |

\`policy.yaml\` keeps its name and place, and every other file ends in \`.yaml\`. Apart from that, you are free to name
and arrange files as you like. Editors with the YAML language server complete and check by the schemas in \`.schema/\`
(\`bailiwick schema\` prints them again).

| | |
|---|---|
| \`bailiwick check .\` | every mistake, the tests, the guardrails |
| \`bailiwick fmt .\` | one layout |
| \`bailiwick test . --coverage\` | which grants no test covers |
| \`bailiwick compile . -o snapshot.json\` | what a gateway serves; outside of this folder |
`;
}
