// What settings ask of each other, beyond what each is by itself.
import { urlFault } from '../outgoing.js';
import type { Config } from './settings.js';

/** A fault of one setting, by its key. */
export interface Contradiction {
  readonly key: string;
  readonly message: string;
  readonly fix: string;
}

export function contradictionsOf({ authentication }: Config): readonly Contradiction[] {
  const { oidc } = authentication;
  const issuers = oidc.map(({ issuer }, index) => ({
    key: `authentication.oidc.${String(index)}.issuer`,
    text: issuer,
  }));
  const providers = oidc.map(({ provider }, index) => ({
    key: `authentication.oidc.${String(index)}.provider`,
    text: provider,
  }));
  return [
    ...repeated(issuers, 'give each issuer one entry'),
    ...oidc.flatMap(({ issuer, jwksUrl }, index) => {
      const fault = jwksUrl === null ? urlFault(issuer) : null;
      const key = `authentication.oidc.${String(index)}.issuer`;
      return fault === null
        ? []
        : [{ key, message: fault, fix: 'or set `jwksUrl`, so that its keys need no discovery' }];
    }),
    // Who vouches for an identity must be one, or what one of them says would count as the other's word.
    ...repeated(providers, 'give each its own provider, and declare it in the policy'),
  ];
}

function repeated(
  values: readonly { readonly key: string; readonly text: string }[],
  fix: string,
): readonly Contradiction[] {
  return values.flatMap(({ key, text }, index) => {
    const first = values.findIndex((one) => one.text === text);
    const other = values[first]?.key;
    return first === index || other === undefined ? [] : [{ key, message: `is that of \`${other}\``, fix }];
  });
}
