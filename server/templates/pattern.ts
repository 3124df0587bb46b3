// A pattern of a schema. RE2 takes time linear in the text, but also in the pattern: ten thousand parts and a megabyte
// of text are minutes. So the longest that a look can take is known before it begins.
import { createRequire } from 'node:module';
import type * as Re2 from 're2js';
import { TEMPLATE_LIMITS } from '../limits/records.js';

export interface Pattern {
  readonly test: (text: string) => boolean;
  /** The pattern itself: ajv takes patterns with the same text for one. */
  readonly toString: () => string;
}

export class PatternError extends Error {
  override readonly name = 'PatternError';
}

/**
 * `cache` is the number of bytes that the pattern may keep of what RE2 builds from texts, and `foresee` is told
 * before each look how many milliseconds it may take.
 */
export function compilePattern(
  pattern: string,
  { cache, foresee }: { readonly cache: number; readonly foresee: (milliseconds: number) => void },
): Pattern {
  const compiled = compile(pattern);
  const { dfa } = compiled.re2();
  dfa.stateBudget = cache;
  dfa.memBudget = cache;
  const { patternNanoseconds, patternBase } = TEMPLATE_LIMITS;
  const perCharacter = (compiled.programSize() + patternBase) * (patternNanoseconds / 1e6);
  return {
    test: (text) => {
      foresee((text.length + 1) * perCharacter);
      return compiled.test(text);
    },
    toString: () => pattern,
  };
}

/** Makes everything ready for the first pattern. */
export function loadPatterns(): void {
  compile('\\p{L}');
}

/** Why the pattern is refused, or null. For one that is known to be small. */
export function patternFault(pattern: string): string | null {
  try {
    compile(pattern);
    return null;
  } catch (error) {
    if (error instanceof PatternError) return error.message;
    throw error;
  }
}

/** Loaded with the first pattern: making its tables of Unicode takes longer. */
const load: (name: 're2js') => typeof Re2 = createRequire(import.meta.url);

function compile(pattern: string): Re2.RE2JS {
  const { RE2JS } = load('re2js');
  try {
    return RE2JS.compile(RE2JS.translateRegExp(pattern));
  } catch (error) {
    throw new PatternError(faultText(pattern), { cause: error });
  }
}

/** Features that RE2 lacks are reported only for patterns that ECMAScript accepts. */
function faultText(pattern: string): string {
  try {
    new RegExp(pattern, 'u');
  } catch {
    return 'is not a regular expression of ECMAScript';
  }
  return 'has a pattern that is not supported: no look-around, no back-reference';
}
