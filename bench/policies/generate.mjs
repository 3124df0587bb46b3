// Writes a generated policy as a YAML folder like those that people keep: files of a few hundred roles, and a folder of grants for each
// top-level namespace, delegated by `within`. As a program: node bench/policies/generate.mjs <folder> --grants 100000 [--seed 1]
// [--namespaces n] [--identities n] [--edits 10].
import { mkdirSync, readdirSync, realpathSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { grantOf, guardrailsText, pathOf, rolesOf, sizesOf, testsText, topOf } from './policy.mjs';

const ROLES_IN_FILE = 400;
const GRANTS_IN_FILE = 1000;

/** Fills the folder, which must be new or empty. Returns the sizes. */
export function generatePolicy(folder, wanted) {
  const sizes = sizesOf(wanted);
  mkdirSync(folder, { recursive: true });
  if (readdirSync(folder).length > 0) throw new Error(`${folder} is not empty`);
  const put = (path, text) => {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  };
  put('policy.yaml', 'bailiwick: 1\nname: generated\nproviders:\n  badge: {}\n  visitor: {}\n');
  put('guardrails.yaml', guardrailsText());
  put('tests.yaml', testsText(sizes));
  writeRoles(put, sizes);
  writeGrants(put, sizes);
  return sizes;
}

function writeRoles(put, sizes) {
  const roles = [...rolesOf(sizes)];
  for (let from = 0; from < roles.length; from += ROLES_IN_FILE) {
    const texts = roles
      .slice(from, from + ROLES_IN_FILE)
      .map(([name, members]) => `  ${name}:\n    members: [${members.join(', ')}]\n`);
    put(`roles/${String(from / ROLES_IN_FILE).padStart(3, '0')}.yaml`, `roles:\n${texts.join('')}`);
  }
}

function writeGrants(put, sizes) {
  const files = Array.from({ length: sizes.tops }, () => ({ texts: [], count: 0 }));
  const flush = (top) => {
    const file = files[top];
    if (file.texts.length === 0) return;
    const site = pathOf(sizes, top);
    put(`grants${site}/${String(file.count).padStart(3, '0')}.yaml`, `within: ${site}\ngrants:\n${file.texts.join('\n')}\n`);
    files[top] = { texts: [], count: file.count + 1 };
  };
  for (let index = 0; index < sizes.grants; index += 1) {
    const { node, texts } = grantOf(sizes, index);
    const top = topOf(sizes, node);
    files[top].texts.push(...texts);
    if (files[top].texts.length >= GRANTS_IN_FILE) flush(top);
  }
  files.forEach((_, top) => flush(top));
}

if (process.argv[1] !== undefined && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  const number = (text) => (text === undefined ? undefined : Number(text));
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      grants: { type: 'string', default: '100000' },
      seed: { type: 'string', default: '1' },
      namespaces: { type: 'string' },
      identities: { type: 'string' },
      edits: { type: 'string', default: '0' },
    },
  });
  const wanted = Object.fromEntries(Object.entries(values).map(([key, text]) => [key, number(text)]));
  const wrong = Object.entries(wanted).filter(([, value]) => value !== undefined && !(Number.isSafeInteger(value) && value >= 0));
  if (positionals.length !== 1 || wrong.length > 0 || wanted.grants < 100) {
    console.error('usage: node bench/policies/generate.mjs <folder> [--grants n (from 100)] [--seed n] [--namespaces n] [--identities n] [--edits n]');
    process.exitCode = 2;
  } else console.log(JSON.stringify(generatePolicy(positionals[0], wanted)));
}
