// Pages of the codes about YAML (docs/language.md "Strictness").
import { pagesOf } from './page.js';

export const YAML_PAGES = pagesOf({
  YAML_SYNTAX: {
    title: 'not YAML',
    explanation: 'The text at this place does not fit the syntax of YAML 1.2, perhaps because of the lines above.',
    wrong: 'roles:\n  optics:\n    description: |x\n      Optics group\n',
    right: 'roles:\n  optics:\n    description: |\n      Optics group\n',
  },
  YAML_INDENT: {
    title: 'indentation that does not fit',
    explanation:
      'The lines of one list or mapping begin in the same column, and their content begins further to the right.',
    wrong: 'roles:\n  optics:\n    members: []\n   description: Optics group\n',
    right: 'roles:\n  optics:\n    members: []\n    description: Optics group\n',
  },
  YAML_UNCLOSED: {
    title: 'a bracket or brace that is not closed',
    explanation:
      'Each `[` needs a `]`, and each `{` a `}`. The report shows where it should have been closed, and where it was opened.',
    wrong: 'roles:\n  optics: { members: [github:octocat }\n',
    right: 'roles:\n  optics: { members: [github:octocat] }\n',
  },
  YAML_QUOTE_UNCLOSED: {
    title: 'a quote that is not closed',
    explanation:
      "Quoted text ends at the next quote of the same kind. A quote within the text is written `\\\"` in double quotes, and `''` in single quotes.",
    wrong: 'roles:\n  optics:\n    description: "Optics group\n    members: []\n',
    right: 'roles:\n  optics:\n    description: "Optics group"\n    members: []\n',
  },
  YAML_BRACKET_EXTRA: {
    title: 'a bracket or brace that closes nothing',
    explanation: 'There are more `]` or `}` than `[` or `{` before them.',
    wrong: 'roles:\n  optics: { members: [] }}\n',
    right: 'roles:\n  optics: { members: [] }\n',
  },
  YAML_TRAILING: {
    title: 'text after a closing quote or bracket',
    explanation:
      "A value ends with its closing quote or bracket. Perhaps the quote was meant to be a part of the text: `''` within single quotes, `\\\"` within double quotes.",
    wrong: "roles:\n  optics:\n    description: 'it's ours'\n",
    right: "roles:\n  optics:\n    description: 'it''s ours'\n",
  },
  YAML_COMMA_MISSING: {
    title: 'a comma is missing',
    explanation: 'In `[…]` and `{…}` entries are separated by commas.',
    wrong: 'roles:\n  optics: { members: ["github:octocat" "github:hubot"] }\n',
    right: 'roles:\n  optics: { members: ["github:octocat", "github:hubot"] }\n',
  },
  YAML_COMMA_EXTRA: {
    title: 'a comma with nothing before it',
    explanation: 'Each comma ends an entry. A comma after the last entry is fine; two in a row are not.',
    wrong: 'roles:\n  optics: { members: [github:octocat, , github:hubot] }\n',
    right: 'roles:\n  optics: { members: [github:octocat, github:hubot] }\n',
  },
  YAML_COLON_SPACE: {
    title: 'a space is missing after the colon',
    explanation:
      'A key ends with a colon and a space; `namespace:/labs` is a single string, just as `github:octocat` is.',
    wrong: 'grants:\n  - id: a\n    role: staff\n    namespace:/labs\n',
    right: 'grants:\n  - id: a\n    role: staff\n    namespace: /labs\n',
  },
  YAML_COLON_MISSING: {
    title: 'a key without a colon',
    explanation: 'In a mapping, a colon follows each key.',
    wrong: 'roles:\n  optics\n    members: []\n',
    right: 'roles:\n  optics:\n    members: []\n',
  },
  YAML_COLON_IN_TEXT: {
    title: 'text with a colon and a space in it',
    explanation: 'A colon and a space turn the text before them into a key. Put the text in quotes.',
    wrong: 'roles:\n  optics:\n    description: Optics: building 7\n',
    right: 'roles:\n  optics:\n    description: "Optics: building 7"\n',
  },
  YAML_DASH_MISSING: {
    title: 'an entry of a list without its dash',
    explanation: 'Each entry of a list on lines of its own begins with a dash and a space.',
    wrong: 'roles:\n  optics:\n    members:\n      - github:octocat\n      github:hubot\n',
    right: 'roles:\n  optics:\n    members:\n      - github:octocat\n      - github:hubot\n',
  },
  YAML_DASH_SPACE: {
    title: 'a space is missing after the dash',
    explanation: 'An entry of a list begins with a dash and a space; without the space the dash is a part of the text.',
    wrong: 'roles:\n  optics:\n    members:\n      - github:octocat\n      -github:hubot\n',
    right: 'roles:\n  optics:\n    members:\n      - github:octocat\n      - github:hubot\n',
  },
  YAML_LIST_INLINE: {
    title: 'a list with dashes on the line of its key',
    explanation: 'A list with dashes begins on the line below its key. On the same line it is written in brackets.',
    wrong: 'roles:\n  optics:\n    members: - github:octocat\n',
    right: 'roles:\n  optics:\n    members:\n      - github:octocat\n',
  },
  YAML_COMMENT_SPACE: {
    title: 'a space is missing before a comment',
    explanation:
      'A comment begins with `#`, which needs a space before it unless it is the first character of the line.',
    wrong: 'roles:\n  optics: { description: "Optics group" }# for now\n',
    right: 'roles:\n  optics: { description: "Optics group" } # for now\n',
  },
  YAML_ESCAPE: {
    title: 'an escape that does not exist',
    explanation: 'In double quotes a backslash begins an escape. Write `\\\\` for a backslash, or use single quotes.',
    wrong: 'roles:\n  optics: { description: "a\\qb" }\n',
    right: "roles:\n  optics: { description: 'a\\qb' }\n",
  },
  YAML_SCALAR_START: {
    title: 'text that must be quoted',
    explanation: 'Text needs quotes if it begins with a character that has a meaning in YAML.',
    wrong: 'roles:\n  optics: { description: @optics }\n',
    right: 'roles:\n  optics: { description: "@optics" }\n',
  },
  YAML_KEY_SYNTAX: {
    title: 'a key that is not on one line',
    explanation: 'A key is one short text followed by a colon, on one line.',
    wrong: 'roles:\n  "opt\n    ics": {}\n',
    right: 'roles:\n  optics: {}\n',
  },
  YAML_DIRECTIVE: {
    title: 'a YAML directive',
    explanation: 'A directive can change what the file means (`%YAML 1.1` turns `no` into false). Remove the line.',
    wrong: '%YAML 1.1\n---\ngrants: []\n',
    right: 'grants: []\n',
  },
  YAML_DOCUMENTS: {
    title: 'several documents in one file',
    explanation: 'Only one document would be read. Put the others in files of their own.',
    wrong: 'grants: []\n---\nroles: {}\n',
    right: 'grants: []\nroles: {}\n',
  },
  YAML_TAG: {
    title: 'a YAML tag',
    explanation: 'A tag turns a value into something that it does not look like. Write the value alone.',
    wrong: 'grants: !!seq []\n',
    right: 'grants: []\n',
  },
  YAML_ANCHOR: {
    title: 'a YAML anchor',
    explanation: 'Anchors are for aliases, which policy files do not have. Use a role to share members and scopes.',
    wrong: 'grants: &all []\n',
    right: 'grants: []\n',
  },
  YAML_ALIAS: {
    title: 'a YAML alias',
    explanation:
      'An alias stands for text elsewhere, so a line would not show what it means. Write the value, or use a role.',
    wrong: 'roles:\n  optics: { members: *everyone }\n',
    right: 'roles:\n  optics: { members: [{ role: staff }] }\n',
  },
  YAML_MERGE_KEY: {
    title: 'a merge key',
    explanation: 'Merged mappings do not show what they mean. Write the keys out.',
    wrong: 'roles:\n  optics:\n    <<: { members: [] }\n',
    right: 'roles:\n  optics: { members: [] }\n',
  },
  YAML_DUPLICATE_KEY: {
    title: 'a key that appears twice in one mapping',
    explanation: 'One of the two values would be lost. Remove one, or merge them.',
    wrong: 'roles:\n  optics: { members: [] }\n  optics: { members: [github:octocat] }\n',
    right: 'roles:\n  optics: { members: [github:octocat] }\n',
  },
  YAML_KEY_NOT_TEXT: {
    title: 'a key that is not text',
    explanation: 'YAML reads this key as a number, a boolean, null, a list or a mapping. Put it in quotes.',
    wrong: 'roles:\n  2024: { members: [] }\n',
    right: 'roles:\n  "2024": { members: [] }\n',
  },
});
