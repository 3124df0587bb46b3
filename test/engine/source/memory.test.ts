// The whole parser releases what it has read: neither broken nor legal texts take memory for each of their marks.
import { describe, expect, test } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { pathToFileURL } from 'node:url';
import { fromRoot } from '../../support/root.js';

describe('a large text for the whole parser takes no more memory than a small one', () => {
  // In a process of its own, whose heap is the limit: the tokens of one of these texts alone took more.
  const reads = `
    const [, , door, kind] = process.argv;
    const { readYaml } = await import(door);
    const texts = {
      'an unclosed list': () => 'grants: [\\n' + '  { id: a, role: b, namespace: /c },\\n'.repeat(25_000),
      'a fault on every line': () => 'k1: [}\\n'.repeat(150_000),
      'nothing before commas': () => 'grants: [' + ','.repeat(1_500_000),
      'tags before nothing': () => 'grants: ' + '!t '.repeat(500_000),
      'wrong escapes in one text': () => 'a: "' + '\\\\q'.repeat(500_000) + '"',
      'brackets that close nothing': () => 'grants: []' + ']'.repeat(1_500_000),
      'an escape at the end of a legal text': () => '{"a":[' + '{"b":"c","d":["e"]},'.repeat(25_000) + '"\\\\n"]}',
      'comments at the end of a legal text': () => 'a: [\\n  b,\\n' + '  # c\\n\\n'.repeat(150_000) + '  d, ]\\n',
    };
    const bytes = new TextEncoder().encode(texts[kind]());
    const { diagnostics } = readYaml({ path: 'a.yaml', bytes });
    console.log(diagnostics.length === 0 ? 'legal' : diagnostics[0].code);`;
  test.each<[string, string]>([
    ['an unclosed list', 'YAML_UNCLOSED'],
    ['a fault on every line', 'YAML_UNCLOSED'],
    ['nothing before commas', 'YAML_COMMA_EXTRA'],
    ['tags before nothing', 'YAML_TAG'],
    ['wrong escapes in one text', 'YAML_ESCAPE'],
    ['brackets that close nothing', 'YAML_BRACKET_EXTRA'],
    ['an escape at the end of a legal text', 'legal'],
    ['comments at the end of a legal text', 'legal'],
  ])('%s', (kind, expected) => {
    const door = pathToFileURL(fromRoot('dist/engine/compiler.js')).href;
    const flags = ['--max-old-space-size=100', '--input-type=module'];
    const { stdout, status } = spawnSync(process.execPath, [...flags, '-e', reads, 'x', door, kind], {
      encoding: 'utf8',
    });
    expect([status, stdout.trim()]).toEqual([0, expected]);
  });
});
