// The settings of `authentication`: each way in that an operator can open, and what they ask of each other.
import { group, later, list, setting } from './setting.js';
import { durationUpTo, FLAG, oneOf, OUTGOING_URL, PROVIDER, someOf, TEXT, TEXTS } from './value-types.js';

const PROVIDER_DOC =
  'provider of the policy that stands for the issuer; a token is for the identity `<provider>:<sub>`';

/** Which claims carry what, alike for every token. */
const CLAIMS = Object.freeze({
  scopeClaim: setting(TEXT, {
    default: null,
    example: 'scope',
    doc: 'claim with the scopes that the token carries, which carries none where it is absent; unless set, all ten',
  }),
  groupsClaim: setting(TEXT, {
    default: null,
    example: 'groups',
    doc: 'claim with a list of groups, each the identity `<provider>-group:<name>`',
  }),
  restrictionsClaim: setting(TEXT, {
    default: null,
    example: 'bailiwick_namespaces',
    doc: 'claim with a list of namespaces that the token reaches; one without it is refused',
  }),
});

export const AUTHENTICATION = group('how callers prove who they are', {
  keys: group('API keys of `bailiwick keys create`', {
    enabled: setting(FLAG, { default: true, doc: 'whether API keys are accepted' }),
  }),
  oidc: list('issuers of OpenID Connect or OAuth 2.0 whose signed tokens (JWT) are accepted', {
    issuer: setting(TEXT, {
      default: null,
      required: true,
      example: 'https://id.example.org/',
      doc: 'the issuer, exactly as its tokens have it in `iss`',
    }),
    audience: setting(TEXTS, {
      default: null,
      required: true,
      example: 'bailiwick',
      doc: 'what tokens for this gateway have in `aud`, or a list of that',
    }),
    provider: setting(PROVIDER, { default: null, required: true, example: 'orcid', doc: PROVIDER_DOC }),
    algorithms: setting(
      someOf('RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA'),
      { default: null, required: true, example: '[RS256]', doc: 'algorithms that tokens may be signed with' },
    ),
    jwksUrl: setting(OUTGOING_URL, {
      default: null,
      example: 'https://id.example.org/jwks',
      doc: 'address of the keys; unless set, the one that the discovery document of the issuer has',
    }),
    clients: setting(TEXTS, {
      default: null,
      example: '[beamline-app]',
      doc: 'clients (`azp` or `client_id`) that tokens may be issued to; such a token may be for other audiences, too',
    }),
    tokenType: setting(oneOf('any', 'access'), {
      default: 'any',
      doc: '`access`: only tokens of the type `at+jwt` (RFC 9068)',
    }),
    clockTolerance: setting(durationUpTo('5m'), {
      default: '30s',
      doc: 'how far the clocks of issuer and gateway may be apart',
    }),
    maxTokenAge: setting(durationUpTo('366d'), {
      default: '24h',
      doc: 'how long after its `iat` a token is accepted, whatever its `exp` says',
    }),
    ...CLAIMS,
  }),
  introspection: later(),
  mtls: later(),
  revocationsFile: later(),
});
