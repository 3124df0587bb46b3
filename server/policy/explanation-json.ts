// The JSON of an explanation, for the command line and for services that ask.
import type {
  Change,
  Closes,
  ClosingEdit,
  Edit,
  ExplainRequest,
  Explanation,
  ProvedEdit,
  TakingChange,
} from '../../engine/compiler.js';
import { canonicalize, formatIdentity, formatInstant } from '../../engine/index.js';
import { exactJson, instantJson } from '../json/exact-json.js';

export type AnyEdit = ProvedEdit<Edit | ClosingEdit>;

/** An explanation with edits that were checked against the guardrails and tests: those that would allow what is denied, or deny what is allowed. */
export type Proved = Omit<Explanation, 'edits'> & {
  readonly edits: readonly AnyEdit[];
  /** Present and true where more edits would deny what is allowed. */
  readonly more?: boolean;
};

/** The answer about one access, the same on the command line and over HTTP. */
interface ExplanationJson extends Pick<Explanation, 'decision' | 'step' | 'steps' | 'grants' | 'noEdit'> {
  readonly edits: readonly object[];
  readonly more?: true;
}

export function answerJson({ decision, step, steps, grants, edits, more, noEdit }: Proved): ExplanationJson {
  return {
    decision,
    ...(step === undefined ? {} : { step }),
    steps,
    grants,
    edits: edits.map(editJson),
    ...(more === true ? { more } : {}),
    ...(noEdit === undefined ? {} : { noEdit }),
  };
}

/** The JSON of `bailiwick explain`, as its help lists it. */
export function explanationJson(
  explanation: Proved,
  request: ExplainRequest & { readonly person?: string },
  snapshot: string,
): object {
  const { decision, step, ...answer } = answerJson(explanation);
  const { person, identities, credentialScopes, namespaceRestrictions, scope, context, target, at } = request;
  return {
    decision,
    ...(step === undefined ? {} : { step }),
    at: formatInstant(at),
    snapshot,
    request: { kind: 'access', scope, context: canonicalText(context), target: canonicalText(target) },
    actor: {
      ...(person === undefined ? {} : { person }),
      identities: identities.map(formatIdentity),
      ...(credentialScopes === null ? {} : { credentialScopes }),
      namespaceRestrictions: namespaceRestrictions?.map(canonicalText) ?? null,
    },
    ...answer,
  };
}

/** A string that is not a namespace is shown as typed. */
function canonicalText(text: string): string {
  const result = canonicalize(text);
  return result.ok ? result.path : text;
}

function editJson({ text, change, opens, breaks, repairs, breaksTests, repairsTests, ...edit }: AnyEdit): object {
  const effects = { breaks, repairs, breaksTests, repairsTests };
  return {
    text,
    change: changeJson(change),
    opens: { cells: exactJson(opens.cells) },
    ...('closes' in edit ? { closes: closesJson(edit.closes) } : {}),
    ...Object.fromEntries(Object.entries(effects).filter(([, names]) => names?.length !== 0)),
  };
}

/** The causes of the rows are the edit itself. */
function closesJson({ cells, others, identities, rows }: Closes): object {
  return {
    cells: exactJson(cells),
    others: exactJson(others),
    identities,
    rows: rows.map(({ causes: _, from, until, ...row }) => ({
      ...row,
      from: instantJson(from),
      until: instantJson(until),
    })),
  };
}

function changeJson(change: Change | TakingChange): object {
  if (change.kind === 'several') return { ...change, changes: change.changes.map(changeJson) };
  const { notBefore, expires } = { notBefore: undefined, expires: undefined, ...change };
  return {
    ...change,
    ...(notBefore === undefined ? {} : { notBefore: instantJson(notBefore) }),
    ...(expires === undefined ? {} : { expires: instantJson(expires) }),
  };
}
