// Settings that promise what local mode does not do: it asks nobody for a credential and decides by no policy.
import type { Config } from '../config/index.js';

/** The keys of such settings that are set. If there are none, local mode may start. */
export function localConflicts({ authentication, cors, snapshot, trustProxy }: Config): readonly string[] {
  const { oidc, introspection, mtls, anonymous, revocationsFile } = authentication;
  const expected: readonly (readonly [key: string, isSet: boolean])[] = [
    ['authentication.oidc', oidc.length > 0],
    ['authentication.introspection', introspection.length > 0],
    ['authentication.mtls', mtls !== null],
    ['authentication.anonymous', anonymous !== null],
    ['authentication.revocationsFile', revocationsFile !== null],
    ['cors.origins', cors.origins !== null],
    ['snapshot.requireSignature', snapshot.requireSignature],
    ['trustProxy', trustProxy !== null],
  ];
  return expected.filter(([, isSet]) => isSet).map(([key]) => key);
}
