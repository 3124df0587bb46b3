// What all doors have in common: `bailiwick/sql`. The condition itself comes from the door of your library, next to this file.
export { type BoundValue, pathCheck, type PathRanges, pathRanges } from './predicate.js';
