// Lint: typescript-eslint's strictest preset with types, the house rules that a linter can see, the import table, and rules
// for traps that were measured. Formatting is prettier's; structure as a whole is test/architecture.test.ts.
import { readFileSync } from 'node:fs';
import { posix, relative } from 'node:path';
import js from '@eslint/js';
import { defineConfig } from 'eslint/config';
import tseslint from 'typescript-eslint';

const root = import.meta.dirname;
const { common, imports: table } = JSON.parse(readFileSync(`${root}/test/architecture.json`, 'utf8'));

const inFolder = (path, pattern) => {
  if (pattern === 'common') return common.some((one) => inFolder(path, one));
  return pattern.endsWith('/') ? path.startsWith(pattern) : path === pattern;
};
const inPackage = (name, pattern) =>
  pattern === '*' || name === pattern || name.startsWith(pattern.endsWith(':') ? pattern : `${pattern}/`);

/** The import table, in the editor; the same table is enforced without a linter by the architecture test. */
const importTable = {
  meta: {
    type: 'problem',
    schema: [],
    messages: { refused: '`{{file}}` may not import `{{target}}` (test/architecture.json)' },
  },
  create(context) {
    const file = posix.normalize(relative(root, context.filename));
    const row = table.find((candidate) => file.startsWith(candidate.from));
    const check = (node) => {
      if (row === undefined || typeof node.source?.value !== 'string') return;
      const name = node.source.value;
      const local = name.startsWith('.');
      const target = local ? posix.join(posix.dirname(file), name).replace(/\.js$/, '.ts') : name;
      const own = local && row.from.endsWith('/') && target.startsWith(row.from);
      const types = node.importKind === 'type' || node.exportKind === 'type' ? (row.types ?? []) : [];
      const allowed = [...(local ? row.may : (row.packages ?? [])), ...types];
      if (own || allowed.some((pattern) => (local ? inFolder : inPackage)(target, pattern))) return;
      context.report({ node, messageId: 'refused', data: { file, target } });
    };
    return {
      ImportDeclaration: check,
      ExportNamedDeclaration: check,
      ExportAllDeclaration: check,
      ImportExpression: check,
    };
  },
};

/** `eslint-disable…` without a reason after ` -- `. */
const describedDisables = {
  meta: { type: 'problem', schema: [], messages: { missing: 'say why, after ` -- `' } },
  create(context) {
    return {
      Program() {
        for (const comment of context.sourceCode.getAllComments()) {
          if (/^\s*eslint-disable/.test(comment.value) && !/ -- \S/.test(comment.value)) {
            context.report({ loc: comment.loc, messageId: 'missing' });
          }
        }
      },
    };
  },
};

const refuse = (selector, message) => ({ selector, message });

const HOUSE = [
  refuse('TSEnumDeclaration', 'no enums: a union of texts, or a frozen table'),
  refuse('ExportDefaultDeclaration', 'no default exports'),
  refuse('ExportAllDeclaration', 'no `export *`: name what leaves'),
  refuse(
    'ExportNamedDeclaration > FunctionDeclaration:not([returnType.typeAnnotation.asserts=true]) > Identifier[typeAnnotation.typeAnnotation.type="TSBooleanKeyword"]',
    'no boolean parameters in exported functions: use a named union or an object',
  ),
  refuse(
    'ExportNamedDeclaration > FunctionDeclaration[params.length>3]',
    'at most three positional parameters, then one readonly object',
  ),
  refuse('ForInStatement', 'for…in walks prototypes: use Object.keys or a Map'),
  refuse('MemberExpression[property.name="localeCompare"]', 'depends on the locale: compare code points'),
  refuse(
    'CallExpression[callee.property.name=/^toLocale/][arguments.length=0]',
    'depends on the locale of the machine: name one',
  ),
];

const PURE = [
  refuse('NewExpression[callee.name="Date"][arguments.length=0]', 'the clock is an argument'),
  refuse('MemberExpression[object.name="Date"][property.name="now"]', 'the clock is an argument'),
  refuse('MemberExpression[object.name="Math"][property.name="random"]', 'the engine is deterministic'),
  refuse(':function[async=true]', 'the engine is synchronous'),
  refuse(
    'ClassDeclaration[declare=false]:not([superClass.name="Error"])',
    'functions and plain data; only errors are classes',
  ),
];

const SERVER = [
  refuse(
    'MemberExpression[object.name="AbortSignal"][property.name="any"]',
    'Node 20 forgets a time limit behind it: see server/lib/either-signal.ts',
  ),
  refuse(
    'CallExpression[callee.property.name="orderBy"][arguments.length>2]:not([arguments.2.type="Literal"])',
    'knex puts the third argument of orderBy into the SQL as it is: it must be a literal',
  ),
  refuse(
    'CallExpression[callee.property.name=/^(or|and)?[wW]here(Not)?$/][arguments.length=0]',
    'an empty where is no where',
  ),
  refuse('CallExpression[callee.property.name=/^or[wW]here/]', 'escapes the visibility predicate unless it is grouped'),
  refuse('MemberExpression[property.name="headersDistinct"]', 'crashes on a `__proto__` header'),
  refuse(
    'MemberExpression[object.name="process"][property.name="env"]',
    'settings come from server/config.ts, the environment from io',
  ),
];

export default defineConfig(
  { ignores: ['deploy/vscode/', 'dist/', 'node_modules/', 'coverage/', '.bailiwick/', '.run/'] },
  { linterOptions: { reportUnusedDisableDirectives: 'error', reportUnusedInlineConfigs: 'error' } },
  js.configs.recommended,
  {
    plugins: { house: { rules: { 'import-table': importTable, 'described-disables': describedDisables } } },
    rules: {
      'house/described-disables': 'error',
      'max-lines': ['error', { max: 400, skipBlankLines: true, skipComments: true }],
      eqeqeq: 'error',
      'no-console': 'error',
      'no-param-reassign': 'error',
    },
  },
  {
    files: ['**/*.ts'],
    extends: [tseslint.configs.strictTypeChecked],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: root } },
    rules: {
      'house/import-table': 'error',
      'no-restricted-syntax': ['error', ...HOUSE],
      '@typescript-eslint/explicit-module-boundary-types': 'error',
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true }],
      '@typescript-eslint/strict-boolean-expressions': 'error',
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
      '@typescript-eslint/ban-ts-comment': [
        'error',
        { 'ts-expect-error': 'allow-with-description', minimumDescriptionLength: 10 },
      ],
    },
  },
  {
    files: ['engine/**/*.ts', 'server/**/*.ts'],
    rules: {
      'max-params': 'off',
      '@typescript-eslint/max-params': ['error', { max: 4 }],
      '@typescript-eslint/explicit-function-return-type': ['error', { allowExpressions: true }],
    },
  },
  { files: ['engine/**/*.ts'], rules: { 'no-restricted-syntax': ['error', ...HOUSE, ...PURE] } },
  { files: ['server/**/*.ts'], rules: { 'no-restricted-syntax': ['error', ...HOUSE, ...SERVER] } },
  {
    files: ['**/*.{js,mjs}'],
    languageOptions: {
      globals: {
        process: 'readonly',
        console: 'readonly',
        fetch: 'readonly',
        URL: 'readonly',
        setTimeout: 'readonly',
        clearTimeout: 'readonly',
        setImmediate: 'readonly',
        performance: 'readonly',
        AbortController: 'readonly',
        AbortSignal: 'readonly',
        Buffer: 'readonly',
        globalThis: 'readonly',
      },
    },
    rules: { 'no-console': 'off' },
  },
);
