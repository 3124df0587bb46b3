// What the JSON object of a verb says also where the verb failed before it had found anything out, so that a script finds the
// fields of interfaces.md on every path. Only what is true then: that nobody holds a scope is an answer, and not said here.

const NOTHING_CHECKED = {
  ok: false,
  policy: null,
  diagnostics: [],
  tests: { passed: 0, failed: 0, failures: [] },
  guardrails: { held: 0, violated: 0, violations: [] },
};

const FIELDS: ReadonlyMap<string, object> = new Map<string, object>([
  ['check', NOTHING_CHECKED],
  ['compile', NOTHING_CHECKED],
  ['fmt', { ok: false, changed: [], unchanged: 0, diagnostics: [] }],
  ['test', { passed: 0, failed: 0, failures: [], results: [] }],
  ['verify', { ok: false, signatures: [] }],
  ['load', { ok: false }],
  ['config check', { ok: false, file: null, settings: [], faults: [] }],
]);

/** The object; `report` is what the failure itself has to say. */
export function failedAnswer(
  verb: string,
  failure: { readonly code: string; readonly message: string; readonly report: object | undefined },
): object {
  const { code, message, report } = failure;
  return { ...FIELDS.get(verb), ...report, error: { code, message } };
}
