// The contestants. `load` returns a function that tells whether a request is allowed, or `{ shape, decide }` if requests must first be put
// into other objects. That first step is not measured.
import { load as casbin } from './contestants/casbin.mjs';
import { loadConditions, loadTypes } from './contestants/casl.mjs';
import { load as cedar } from './contestants/cedar.mjs';
import { loadResolvedStep, loadResolvedWhole, loadStep, loadWhole } from './contestants/own.mjs';

export const CONTESTANTS = {
  'bailiwick, raw, whole answer': { own: true, load: loadWhole },
  'bailiwick, raw, step': { own: true, load: loadStep },
  'bailiwick, resolved, whole answer': { own: true, load: loadResolvedWhole },
  'bailiwick, resolved, step': { own: true, load: loadResolvedStep },
  'casbin, role manager': { own: false, load: casbin },
  'CASL, conditions, kept per actor': { own: false, load: loadConditions },
  'CASL, types, kept per actor': { own: false, load: loadTypes },
  'Cedar, indexed policies': { own: false, load: cedar },
};
