// The types of queries and of what they give, by family. Fields and their types come from the schemas of records, so a
// misspelt field, operator or state does not compile.
import type { PAGE_SCHEMA } from '../api/answer-schemas.js';
import type { RECORD_SCHEMAS } from '../api/record-schema.js';
import type { TypeOf } from '../api/schema.js';

/** Records by family, with all their fields. */
export type Records = { readonly [F in keyof typeof RECORD_SCHEMAS]: TypeOf<(typeof RECORD_SCHEMAS)[F]> };
export type Family = keyof Records;

/** The documents of a family, whose members are fields of your own. */
type DocumentOf<F extends Family> = F extends 'process-run' ? 'properties' | 'parameters' : 'properties';
type CoreField<F extends Family> = keyof Records[F] & string;
type OwnField<F extends Family> = `${DocumentOf<F>}.${string}`;
/** What a slot of a run holds: the id of a resource. */
type SlotField<F extends Family> = F extends 'process-run' ? `resources.${string}` : never;
/** `name`, `createdAt`, `properties.rank`, `resources.sample`. */
export type FieldOf<F extends Family> = CoreField<F> | OwnField<F> | SlotField<F>;

type Scalar = string | number | boolean;

interface Presence {
  readonly isNull?: boolean;
}
interface Equality<T> extends Presence {
  readonly eq?: T;
  readonly ne?: T;
  readonly in?: readonly T[];
  readonly notIn?: readonly T[];
}
interface Order<T> {
  readonly lt?: T;
  readonly lte?: T;
  readonly gt?: T;
  readonly gte?: T;
}
interface Patterns {
  readonly contains?: string;
  readonly containsIgnoreCase?: string;
  readonly startsWith?: string;
  readonly endsWith?: string;
}
interface Containment {
  readonly has?: string | number;
  readonly hasAny?: readonly string[] | readonly number[];
  readonly hasAll?: readonly string[] | readonly number[];
}

/** The operators of a value of this type; objects and lists only have `isNull`. */
type Operators<T> = [NonNullable<T>] extends [string]
  ? Equality<NonNullable<T>> & Order<NonNullable<T>> & Patterns
  : [NonNullable<T>] extends [number]
    ? Equality<number> & Order<number>
    : [NonNullable<T>] extends [boolean]
      ? Equality<boolean>
      : Presence;

/** The operators of a member of a document, whose type nobody knows before. */
export type PropertyOperators = Equality<Scalar> & Order<string | number> & Patterns & Containment;

/** What must hold of a record: all of these. */
export type Conditions<F extends Family> = {
  readonly [Name in CoreField<F>]?: Name extends 'resources' ? Presence & Containment : Operators<Records[F][Name]>;
} & {
  readonly [Name in OwnField<F>]?: PropertyOperators;
} & {
  readonly [Name in SlotField<F>]?: Equality<string> & Order<string> & Patterns;
} & {
  readonly and?: readonly Conditions<F>[];
  readonly or?: readonly Conditions<F>[];
  readonly not?: Conditions<F>;
};

type Direction = 'asc' | 'desc';
type Sortable<F extends Family> = {
  [Name in CoreField<F>]: [NonNullable<Records[F][Name]>] extends [string | number] ? Name : never;
}[CoreField<F>];
/** One field and its direction. */
export type OrderOf<F extends Family> = {
  readonly [Name in Sortable<F>]?: Direction;
} & { readonly [Name in OwnField<F> | SlotField<F>]?: Direction };

/** The references of a family, with the family of what they name. */
interface References {
  readonly namespace: { readonly parent: 'namespace' };
  readonly 'resource-template': { readonly namespace: 'namespace' };
  readonly resource: {
    readonly namespace: 'namespace';
    readonly template: 'resource-template';
    readonly copiedFrom: 'resource';
  };
  readonly 'process-template': { readonly namespace: 'namespace'; readonly slots: 'resource-template' };
  readonly 'process-run': {
    readonly namespace: 'namespace';
    readonly template: 'process-template';
    readonly resources: 'resource';
  };
}

/** `{ template: { select: ['name'] } }`; `{}` includes whole records. */
export type IncludesOf<F extends Family> = {
  readonly [Name in keyof References[F]]?: References[F][Name] extends infer G extends Family
    ? { readonly select?: readonly FieldOf<G>[] }
    : never;
};

/** What a page has beside its items if the query includes something: records by id, namespaces by path. */
export type IncludedIn<F extends Family, Includes> = Includes extends object
  ? {
      readonly included: {
        readonly [Name in keyof Includes & keyof References[F]]: References[F][Name] extends infer G extends Family
          ? Readonly<
              Record<string, ItemOf<G, Includes[Name] extends { readonly select: infer S } ? S : undefined> | undefined>
            >
          : never;
      };
    }
  : unknown;

export interface CountEnvelope<F extends Family = Family> {
  readonly family: F;
  readonly namespace: string;
  /** Defaults to `lineage`, for process runs to `exact`. */
  readonly reach?: 'lineage' | 'exact' | 'subtree';
  readonly where?: Conditions<F>;
  readonly includeArchived?: boolean;
}

type Aggregated<F extends Family> = Sortable<F> | OwnField<F> | SlotField<F>;

export interface AggregateEnvelope<F extends Family = Family> extends CountEnvelope<F> {
  /** Without it, there is one group of all records. */
  readonly groupBy?: Aggregated<F>;
  readonly values: readonly (
    | { readonly count: true }
    | { readonly min: Aggregated<F> }
    | { readonly max: Aggregated<F> }
    | { readonly sum: 'revision' | OwnField<F> }
  )[];
}

export interface QueryEnvelope<
  F extends Family = Family,
  Select extends readonly FieldOf<F>[] | undefined = readonly FieldOf<F>[] | undefined,
  Includes extends IncludesOf<F> | undefined = IncludesOf<F> | undefined,
> extends CountEnvelope<F> {
  readonly orderBy?: readonly OrderOf<F>[];
  readonly select?: Select;
  /** References whose records come with the page. */
  readonly includes?: Includes;
  readonly page?: { readonly size?: number; readonly after?: string | null };
}

/** All of a record, or the parts of it that `select` names. */
export type ItemOf<F extends Family, Select> = Select extends readonly (infer Name extends string)[]
  ? Picked<Records[F], Name>
  : Records[F];

type Picked<Whole, Name extends string> = Flat<
  Pick<Whole, Name & keyof Whole> & {
    readonly [Root in RootOf<Exclude<Name, keyof Whole>> as Root extends Name ? never : Root]: Root extends 'resources'
      ? { readonly [Slot in Below<Name, Root>]?: string }
      : Tree<Below<Name, Root>>;
  }
>;
/** Members are absent where a record does not have them. */
type Tree<Path extends string> = {
  readonly [Root in RootOf<Path>]?: Root extends Path ? unknown : Tree<Below<Path, Root>>;
};
type RootOf<Path extends string> = Path extends `${infer Root}.${string}` ? Root : Path;
type Below<Path extends string, Root extends string> = Path extends `${Root}.${infer Rest}` ? Rest : never;
type Flat<T> = { readonly [Key in keyof T]: T[Key] };

export type PageOf<Item> = Omit<TypeOf<typeof PAGE_SCHEMA>, 'items' | 'included'> & { readonly items: readonly Item[] };
