// Module hooks of the tests (runtime.ts). Each test file has its own instances of the tests' own modules, and gets from
// `@jest/globals` the functions of jest-circus.
import type { ResolveHook } from 'node:module';

const TESTS = new URL('..', import.meta.url).href;
const NAMES = 'afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, test';
const GLOBALS = `data:text/javascript,export const { ${NAMES} } = globalThis[Symbol.for("jest globals")] //`;

export const resolve: ResolveHook = async (specifier, context, next) => {
  const file = context.parentURL === undefined ? '' : new URL(context.parentURL).search;
  if (specifier === '@jest/globals') return { url: `${GLOBALS}${file}`, format: 'module', shortCircuit: true };
  const resolved = await next(specifier, context);
  return resolved.url.startsWith(TESTS) ? { ...resolved, url: `${resolved.url}${file}` } : resolved;
};
