// The JSON of an explanation, for the command line and for services that ask.
import type { Change, ExplainRequest, Explanation, ProvedEdit } from '../../engine/compiler.js';
import { canonicalize, formatIdentity, formatInstant } from '../../engine/index.js';
import { exactJson, instantJson } from '../exact-json.js';

/** An explanation with edits that were checked against the guardrails. */
export type Proved = Omit<Explanation, 'edits'> & { readonly edits: readonly ProvedEdit[] };

/** What is answered about one access, whoever asks. */
interface ExplanationJson extends Pick<Explanation, 'decision' | 'step' | 'steps' | 'grants' | 'noEdit'> {
  readonly edits: readonly object[];
}

export function answerJson({ decision, step, steps, grants, edits, noEdit }: Proved): ExplanationJson {
  return {
    decision,
    ...(step === undefined ? {} : { step }),
    steps,
    grants,
    edits: edits.map(({ text, change, opens, breaks }) => ({
      text,
      change: changeJson(change),
      opens: { cells: exactJson(opens.cells) },
      ...(breaks?.length === 0 ? {} : { breaks }),
    })),
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

function changeJson(change: Change): object {
  if (!('grant' in change) || change.notBefore === undefined || change.expires === undefined) return change;
  return { ...change, notBefore: instantJson(change.notBefore), expires: instantJson(change.expires) };
}
