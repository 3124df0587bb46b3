// `make bench`: every bench at a modest size, one after the other, and one page of what they print: .run/bench.md. Each says in its own words
// what is measured, beside what, and which goals are held; `make bench-…` runs one of them at any size.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { cpus, totalmem } from 'node:os';
import { fileURLToPath } from 'node:url';

const PAGE = '.run/bench.md';
const BENCHES = {
  decisions: { title: 'Decisions', args: ['--grants', '10000,100000', '--passes', '1'] },
  policies: { title: 'Policies', args: ['--grants', '100000'] },
  queries: {
    title: 'Queries',
    args: ['--records', '100000', '--namespaces', '10000', '--grants', '100000', '--seconds', '1'],
  },
  commands: { title: 'Commands', args: ['--records', '20000', '--rounds', '3'] },
  swaps: { title: 'Swaps and processes', args: ['--small', '200', '--seconds', '3'] },
};
const HELP = `Usage: make bench ARGS="[names]"

  ${Object.keys(BENCHES).join(', ')}: all of them unless some are named
`;

const wanted = process.argv.slice(2);
const names = Object.keys(BENCHES).filter((name) => wanted.length === 0 || wanted.includes(name));
if (names.length === 0 || wanted.some((name) => !Object.hasOwn(BENCHES, name))) {
  process.stderr.write(HELP);
  process.exitCode = 2;
} else process.exitCode = (await runAll(names)) ? 0 : 1;

/** Whether all of them came to their end: a goal that is not held is told, and is no failure. */
async function runAll(chosen) {
  const machine = `${cpus().length} x ${cpus()[0]?.model ?? 'unknown'}, ${Math.round(totalmem() / 2 ** 30)} GiB, Node ${process.version}`;
  const parts = [`# Benches\n\n${new Date().toISOString()}, ${machine}\n`];
  let isWhole = true;
  for (const name of chosen) {
    const { title, args } = BENCHES[name];
    process.stderr.write(`\n${title}\n`);
    const { text, status } = await run(name, args);
    isWhole &&= status === 0;
    const end = status === 0 ? '' : `\nIt ended with status ${status}.\n`;
    parts.push(
      `## ${title}\n\n\`bench/${name}\` with \`${args.join(' ')}\`\n\n\`\`\`text\n${text.trim()}\n\`\`\`\n${end}`,
    );
    // What is there so far stays where a later one is interrupted.
    mkdirSync('.run', { recursive: true });
    writeFileSync(PAGE, parts.join('\n'));
  }
  process.stderr.write(`\nwritten to ${PAGE}\n`);
  return isWhole;
}

async function run(name, args) {
  const script = fileURLToPath(new URL(`${name}/measure.mjs`, import.meta.url));
  const child = spawn(process.execPath, [script, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  let text = '';
  child.stdout.on('data', (chunk) => {
    text += chunk;
    process.stdout.write(chunk);
  });
  const [status, signal] = await once(child, 'close');
  return { text, status: status ?? signal };
}
