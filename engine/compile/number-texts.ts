// Gives each text a provisional number when it is first met, and at the end its position in the sorted list of all texts.
import type { Identity } from '../model/identity.js';
import { sortTexts } from '../model/order.js';
import type { IdentityColumns } from '../model/tables.js';

export interface TextNumbers {
  /** The provisional number. Equal texts get the same number. */
  readonly numberOf: (text: string) => number;
  /** Call this after every text has been numbered. */
  readonly sort: () => { readonly texts: readonly string[]; readonly rowOf: Int32Array };
}

export function makeTextNumbers(): TextNumbers {
  const numbers = new Map<string, number>();
  let last: string | null = null;
  let lastNumber = 0;
  return {
    numberOf: (text) => {
      // File names mostly repeat from one entry to the next, so the last text is remembered.
      if (text === last) return lastNumber;
      last = text;
      lastNumber = numbers.get(text) ?? numbers.size;
      numbers.set(text, lastNumber);
      return lastNumber;
    },
    sort: () => {
      const texts = sortTexts(numbers.keys());
      const rowOf = new Int32Array(texts.length);
      for (const [row, text] of texts.entries()) rowOf[numbers.get(text) ?? 0] = row;
      return { texts, rowOf };
    },
  };
}

export interface IdentityNumbers {
  readonly numberOf: (identity: Identity) => number;
  readonly sort: () => {
    readonly providers: readonly string[];
    readonly identities: IdentityColumns;
    readonly rowOf: Int32Array;
  };
}

/** Providers are the declared ones, plus those of identities: a set built in memory may declare none. */
export function makeIdentityNumbers(declared: Iterable<string>): IdentityNumbers {
  const subjectsOf = new Map<string, Map<string, number>>();
  for (const provider of declared) subjectsOf.set(provider, new Map());
  let count = 0;
  return {
    numberOf: ({ provider, subject }) => {
      let subjects = subjectsOf.get(provider);
      if (subjects === undefined) subjectsOf.set(provider, (subjects = new Map<string, number>()));
      const known = subjects.get(subject);
      if (known !== undefined) return known;
      subjects.set(subject, count);
      return count++;
    },
    sort: () => {
      const providers = sortTexts(subjectsOf.keys());
      const provider = new Int32Array(count);
      const subject: string[] = [];
      const rowOf = new Int32Array(count);
      for (const [row, name] of providers.entries()) {
        const subjects = subjectsOf.get(name) ?? new Map<string, number>();
        provider.fill(row, subject.length, subject.length + subjects.size);
        for (const text of sortTexts(subjects.keys())) {
          rowOf[subjects.get(text) ?? 0] = subject.length;
          subject.push(text);
        }
      }
      return { providers, identities: { provider, subject }, rowOf };
    },
  };
}
