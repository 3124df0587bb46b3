// Reports of check against the published schemas of their formats, and the documented rules of workflow commands, over
// everything that can be wrong with a policy, and over texts that could break a format.
import { readdirSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { checkPolicy } from '../../server/policy/open/check-policy.js';
import { CliFailure, EXIT } from '../../server/cli/exit.js';
import { showFailure } from '../../server/cli/show-failure.js';
import { renderReport as renderGithub } from '../../server/cli/render/github.js';
import { renderReport as renderJunit } from '../../server/cli/render/junit.js';
import { makeLocator } from '../../server/cli/render/problems.js';
import { renderReport as renderSarif } from '../../server/cli/render/sarif.js';
import { junitFaults, sarifFaults } from '../support/published-schemas.js';
import { makeIo } from '../support/cli-io.js';
import { fromRoot } from '../support/root.js';
import { makeFolder } from '../support/temp-folder.js';
import { BROKEN, FAILING, PASSING, POLICY } from './policies.js';

const LINT = { at: null, soonMilliseconds: 0, levels: new Map(), failOn: 'errors' } as const;
const VIOLATED = 'guardrails:\n  - id: nobody\n    description: ¤\n    never: { scopes: [resource:write], under: / }\n';
const HOSTILE = [
  '<b a="1">&amp;\'</b>',
  ']]>',
  '::error file=x::y',
  '%0A%25%',
  'a\u0000b\u0007\u001b[31m\u0085',
  'a\ufeffb\ufffe\uffff\u202e',
  '\u{1f600}\u{e0001}',
  'a\nb\r\n\tc\u2028d',
  'x\ud800y',
  '\udc00',
];

interface Reports {
  readonly sarif: string;
  readonly junit: string;
  readonly github: string;
}

/** Not in the policy folder, so that places are absolute and URIs are not. */
async function reportsOn(folder: string, cwd = fromRoot('.')): Promise<Reports> {
  const result = await checkPolicy({ folder, lint: LINT });
  if (result.kind === 'path') throw new Error(result.fault.kind);
  const { report } = result;
  const locator = makeLocator(cwd, folder);
  return {
    sarif: renderSarif(report, locator),
    junit: renderJunit(report, locator),
    github: renderGithub(report, locator),
  };
}

/** https://docs.github.com/actions: properties and message are escaped, so that a command is one line and ends where it seems to. */
const COMMAND =
  /^::(?:error|warning|notice) (?:[a-zA-Z]+=(?:[^%\r\n:,]|%(?:25|0D|0A|3A|2C))*(?:,(?=[a-zA-Z]+=)|(?=::)))+::(?:[^%\r\n]|%(?:25|0D|0A))*$/;

async function expectValid(all: readonly Reports[]): Promise<void> {
  expect(all.flatMap(({ sarif }) => sarifFaults(JSON.parse(sarif)))).toEqual([]);
  expect(all.filter(({ sarif, junit, github }) => !(sarif + junit + github).isWellFormed())).toEqual([]);
  expect(await junitFaults(all.map(({ junit }) => junit))).toEqual([]);
  const lines = all.flatMap(({ github }) => github.split('\n').slice(0, -1));
  expect(lines.filter((line) => !COMMAND.test(line))).toEqual([]);
}

test('each page of mistakes, the examples and the policy that ships', async () => {
  const bad = fromRoot('fixtures/policies/bad');
  const folders = readdirSync(bad).map((code) => `${bad}/${code}`);
  const others = ['fixtures/examples/broken', 'fixtures/examples/careless', 'policies'].map(fromRoot);
  const all: Reports[] = [];
  for (const folder of [...folders, ...others]) all.push(await reportsOn(folder));
  expect(all.length).toBeGreaterThan(80);
  await expectValid(all);
});

test('no findings, warnings, failed tests, violated guardrails, and a file that is not YAML', async () => {
  const worlds: readonly Readonly<Record<string, string>>[] = [
    { ...POLICY, 'tests.yaml': PASSING },
    { ...POLICY, 'idle.yaml': 'roles:\n  idle: { members: [orcid:bo] }\n' },
    { ...POLICY, 'tests.yaml': FAILING },
    { ...POLICY, 'guardrails.yaml': VIOLATED },
    { ...POLICY, 'tests.yaml': FAILING, 'guardrails.yaml': VIOLATED, 'broken.yaml': BROKEN },
    { ...POLICY, 'cut.yaml': 'grants:\n  - { id: a, role: "st\n' },
    {},
  ];
  const all: Reports[] = [];
  for (const files of worlds) {
    const folder = await makeFolder(files);
    all.push(await reportsOn(folder), await reportsOn(folder, folder));
  }
  await expectValid(all);
});

test('texts that could break a format: in names, descriptions, keys, files and commands that fail', async () => {
  const all: Reports[] = [];
  for (const text of HOSTILE) {
    const quoted = JSON.stringify(text);
    const file = text.replaceAll(/[/\0]/g, '_').toWellFormed();
    const folder = await makeFolder({
      ...POLICY,
      'tests.yaml': FAILING.replace('too much', quoted),
      'guardrails.yaml': VIOLATED.replace('¤', quoted),
      [`${file}.yaml`]: `grants:\n  - { id: ${quoted}, role: ${quoted}, namespace: ${quoted}, scopes: [${quoted}], ${quoted}: x }\n`,
      'raw.yaml': `grants:\n  - id: ${text}\n`,
    });
    all.push(await reportsOn(folder));
    const failed = new CliFailure(EXIT.usage, 'cli.not_found', `\`${text}\` does not exist`);
    const shown = async (format: string): Promise<string> => {
      const { io, stdout } = makeIo();
      await showFailure(failed, io, ['check', '.', '--format', format]);
      return stdout();
    };
    all.push({ sarif: await shown('sarif'), junit: await shown('junit'), github: await shown('github') });
  }
  await expectValid(all);
});

test('the schemas are not content with anything', async () => {
  const { sarif, junit } = await reportsOn(await makeFolder({ ...POLICY, 'broken.yaml': BROKEN }));
  const spoilt = ['"level":"error"', '"startLine":3', '"executionSuccessful":false', '"version":"2.1.0"'].map(
    (part) => {
      expect(sarif).toContain(part);
      return sarifFaults(JSON.parse(sarif.replace(part, part.replace(/:.*/, ':"-"'))));
    },
  );
  expect(spoilt.filter((faults) => faults.length === 0)).toEqual([]);
  for (const part of [' name="files"', '<failure ', '</testsuites>']) {
    expect(junit).toContain(part);
    expect((await junitFaults([junit.replace(part, part === '<failure ' ? '<failed ' : '')])).length).toBeGreaterThan(
      0,
    );
  }
});
