// What an importer makes of the files of another tool: a policy as data, every rule that it cannot say, and the questions by which the two
// are compared.
import type { Identity } from '../../engine/index.js';

/** A file of another tool. `path` is as the user typed it. */
export interface ForeignFile {
  readonly path: string;
  readonly text: string;
}

export interface SourcePlace {
  readonly file: string;
  /** Counts from 1. */
  readonly line: number;
}

/** A rule, or a part of one, that the policy does not say. */
export interface Unsaid extends SourcePlace {
  /** The rule as its file names it. */
  readonly rule: string;
  readonly why: string;
}

export interface ImportedFamily {
  readonly name: string;
  readonly description: string;
  /** Beside `read` and `write`, which every family has. */
  readonly actions: readonly string[];
}

export type ImportedMember = { readonly role: string } | { readonly identity: Identity };

export interface ImportedRole {
  readonly name: string;
  readonly description: string;
  readonly members: readonly ImportedMember[];
}

export interface ImportedGrant {
  readonly id: string;
  readonly to: ImportedMember;
  readonly namespace: string;
  readonly scopes: readonly string[];
  readonly inherit: boolean;
  readonly reason: string;
}

/** One question to both sides, with the answer of the source's own rules. */
export interface ImportQuestion {
  /** The question in the words of the source. */
  readonly text: string;
  readonly identities: readonly Identity[];
  readonly scope: string;
  readonly namespace: string;
  readonly allowed: boolean;
}

export interface ImportedPolicy {
  readonly providers: readonly { readonly name: string; readonly description: string }[];
  readonly families: readonly ImportedFamily[];
  readonly roles: readonly ImportedRole[];
  readonly grants: readonly ImportedGrant[];
  /** How many rules of the source were read. */
  readonly rules: number;
  readonly unsaid: readonly Unsaid[];
  /** What whoever uses the policy has to know. */
  readonly notes: readonly string[];
  /** How many `questions` gives. */
  readonly questionCount: number;
  readonly questions: () => Iterable<ImportQuestion>;
}

/** What keeps a file from being read at all. */
export class ForeignFault extends Error {
  override readonly name = 'ForeignFault';
  /** Null if it is about all files together. */
  readonly place: SourcePlace | null;

  constructor(place: SourcePlace | null, message: string) {
    super(message);
    this.place = place;
  }
}
