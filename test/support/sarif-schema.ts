// The parts of SARIF 2.1.0 that we emit, as JSON Schema, written by hand after the standard (OASIS SARIF v2.1.0, sections
// 3.13 to 3.58), whose published schema is too large to keep here. It asks for types, enumerations, what is required and
// what is unique, as far as we read the standard: a report that passes has the shape we mean, and no more is shown than
// that. Closed, so that a property which we did not mean to emit is refused, too.

const closed = (properties: Readonly<Record<string, object>>, required: readonly string[] = []): object => ({
  type: 'object',
  additionalProperties: false,
  properties,
  required,
});
const text = { type: 'string' };
const message = closed({ text, markdown: text }, ['text']);
const level = { enum: ['none', 'note', 'warning', 'error'] };
const line = { type: 'integer', minimum: 1 };
const region = closed({ startLine: line, startColumn: line, endLine: line, endColumn: line }, ['startLine']);
const artifactLocation = closed({
  uri: { type: 'string', pattern: "^(?:[A-Za-z0-9._~!$&'()*+,;=@%-]+(?:/(?!$)|$))+$" },
  uriBaseId: { type: 'string', minLength: 1 },
});
const location = closed({ physicalLocation: closed({ artifactLocation, region }, ['artifactLocation']), message }, [
  'physicalLocation',
]);
const rule = closed(
  {
    id: { type: 'string', minLength: 1 },
    shortDescription: message,
    fullDescription: message,
    help: message,
    defaultConfiguration: closed({ level }),
  },
  ['id'],
);
const result = closed(
  {
    ruleId: text,
    ruleIndex: { type: 'integer', minimum: 0 },
    level,
    message,
    locations: { type: 'array', items: location },
    relatedLocations: { type: 'array', items: location, uniqueItems: true },
    partialFingerprints: { type: 'object', additionalProperties: text, minProperties: 1 },
  },
  ['message'],
);
const invocation = closed(
  {
    executionSuccessful: { type: 'boolean' },
    exitCode: { type: 'integer' },
    exitCodeDescription: text,
    toolExecutionNotifications: { type: 'array', items: closed({ level, message }, ['message']) },
  },
  ['executionSuccessful'],
);
const run = closed(
  {
    tool: closed(
      {
        driver: closed(
          {
            name: { type: 'string', minLength: 1 },
            version: text,
            semanticVersion: text,
            rules: { type: 'array', items: rule, uniqueItems: true },
          },
          ['name'],
        ),
      },
      ['driver'],
    ),
    invocations: { type: 'array', items: invocation },
    originalUriBaseIds: { type: 'object', additionalProperties: closed({ uri: text, description: message }) },
    columnKind: { enum: ['utf16CodeUnits', 'unicodeCodePoints'] },
    results: { type: 'array', items: result },
  },
  ['tool', 'results'],
);

export const SARIF_SCHEMA = closed(
  {
    $schema: { type: 'string', pattern: '^https:[^\\s]+$' },
    version: { const: '2.1.0' },
    runs: { type: 'array', items: run, minItems: 1 },
  },
  ['version', 'runs'],
);
