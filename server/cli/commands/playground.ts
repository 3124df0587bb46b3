// `bailiwick playground [policy] -o <file>`: a page in which a policy is read, changed and asked, without a server.
import { atPolicy } from '../at-policy.js';
import { pathFailure, writeWhole } from '../files.js';
import { type CliIo, pathOf, pathsOf, print, write } from '../io.js';
import { formats } from '../options.js';
import { pageWith } from '../page.js';
import { linesText } from '../render/text.js';
import { type Given, required, takes, verb } from '../verb.js';

const TAKES = takes({
  '[policy]': 'policy folder to put into the page, or `<revision>:<path>` in git',
  '-o, --output <file>': required('the HTML file; `-` is stdout'),
  ...formats(),
});

export const definePlayground = verb(TAKES, playground, {
  examples: {
    'to open in a browser': 'bailiwick playground policies -o playground.html',
    'with the shipped example alone': 'bailiwick playground -o playground.html',
  },
  json: ['{"ok","file","files"}; `files`: how many files of the policy are in it'],
});

async function playground(io: CliIo, { policy, output, format }: Given<typeof TAKES>): Promise<void> {
  const files = policy === undefined ? [] : await filesOf(io, policy);
  const page = Buffer.from(await pageWith('playground', policy === undefined ? null : { name: policy, files }));
  if (output === '-') {
    await write(io.stdout, page);
    return;
  }
  await writeWhole(pathOf(io, output), page, { shown: output, inputs: pathsOf(io, [policy]) });
  await print(io, format, {
    json: () => ({ ok: true, file: output, files: files.length }),
    text: () => linesText([`wrote ${output}: open it in a browser`]),
  });
}

/** The folder's files as they are: mistakes in them are what the page shows. */
async function filesOf(io: CliIo, shown: string): Promise<readonly { readonly path: string; readonly text: string }[]> {
  const { readFolder } = await import('../../policy/open/read-folder.js');
  return atPolicy(io, shown, async (content) => {
    if (content.kind === 'parts') throw pathFailure({ kind: 'not_a_folder' }, shown);
    const reading = await readFolder(content.path);
    if (reading.kind === 'path') throw pathFailure(reading.fault, shown);
    return reading.files.map(({ path, bytes }) => ({ path, text: Buffer.from(bytes).toString('utf8') }));
  });
}
