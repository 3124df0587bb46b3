// The id of a grant is used once in a policy. Of a policy that is read again, only the ids of documents that came or went are looked at.
import type { PolicyDocument } from '../model/document.js';
import type { Located } from '../model/span.js';
import { type Names, refuseRepeated } from './names.js';

/** Documents, and the ids of their grants, none of which is used twice. */
interface Unique {
  readonly documents: ReadonlySet<PolicyDocument>;
  readonly ids: Set<string>;
}

/** By the header of a policy: the version that was read last. */
const known = new WeakMap<PolicyDocument, Unique>();

export function checkGrantIds(documents: readonly PolicyDocument[], names: Names): void {
  const { header } = names;
  const last = header === null ? undefined : known.get(header);
  const { documents: before, ids }: Unique = last ?? { documents: new Set(), ids: new Set() };
  const now = new Set(documents);
  for (const document of before) if (!now.has(document)) for (const id of idsOf(document)) ids.delete(id.value);
  let isRepeated = false;
  for (const document of now) {
    if (before.has(document)) continue;
    for (const { value } of idsOf(document)) {
      isRepeated ||= ids.has(value);
      ids.add(value);
    }
  }
  if (isRepeated) reportRepeated(documents, names);
  if (header === null) return;
  if (isRepeated) known.delete(header);
  else known.set(header, { documents: now, ids });
}

function reportRepeated(documents: readonly PolicyDocument[], names: Names): void {
  const refuse = refuseRepeated(names.sink, {
    code: 'GRANT_DUPLICATE',
    message: (id) => `the grant id \`${id}\` is used twice`,
    help: 'give one of them another id, or remove one',
  });
  for (const document of documents) for (const id of idsOf(document)) refuse(document, id);
}

function idsOf({ grants }: PolicyDocument): readonly Located<string>[] {
  return grants.flatMap(({ id }) => (id === null ? [] : [id]));
}
