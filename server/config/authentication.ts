// The settings of `authentication`: each way to authenticate that an operator can open, and the rules between them.
import { group, list, optional, setting } from './setting.js';
import {
  durationUpTo,
  FLAG,
  IDENTITY,
  oneOf,
  OUTGOING_URL,
  PATH,
  PROVIDER,
  someOf,
  TEXT,
  TEXTS,
} from './value-types.js';

const PROVIDER_DOC =
  'name of the issuer in the policy, under `providers`; a token is for the identity `<provider>:<sub>`';

/** Which claims carry what, the same for every kind of token. */
const CLAIMS = Object.freeze({
  scopeClaim: setting(TEXT, {
    example: 'scope',
    doc: 'claim with the scopes of a token; a token without the claim carries no scope (default: tokens carry every scope)',
  }),
  groupsClaim: setting(TEXT, {
    example: 'groups',
    doc: 'claim with a list of groups; each is the identity `<provider>-group:<name>`, and a string is one group',
  }),
  groupsSeparator: setting(TEXT, {
    example: '","',
    doc: 'separator between groups, if the claim is one string with several groups',
  }),
  restrictionsClaim: setting(TEXT, {
    example: 'bailiwick_namespaces',
    doc: 'claim with a list of namespaces that the token is limited to; a token without the claim is refused',
  }),
});

export const AUTHENTICATION = group('how callers prove who they are', {
  keys: group('API keys of `bailiwick keys create`', {
    enabled: setting(FLAG, { default: true, doc: 'whether API keys are accepted' }),
  }),
  oidc: list('issuers of OpenID Connect or OAuth 2.0 whose signed tokens (JWT) are accepted', {
    issuer: setting(TEXT, {
      required: true,
      example: 'https://id.example.org/',
      doc: 'issuer, exactly as in the `iss` of its tokens',
    }),
    audience: setting(TEXTS, {
      required: true,
      example: 'bailiwick',
      doc: '`aud` of tokens for this gateway; may be a list',
    }),
    provider: setting(PROVIDER, { required: true, example: 'orcid', doc: PROVIDER_DOC }),
    algorithms: setting(
      someOf('RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA'),
      { required: true, example: '[RS256]', doc: 'algorithms that tokens may be signed with' },
    ),
    jwksUrl: setting(OUTGOING_URL, {
      example: 'https://id.example.org/jwks',
      doc: 'URL of the public keys (default: the one in the discovery document of the issuer)',
    }),
    clients: setting(TEXTS, {
      example: '[beamline-app]',
      doc: 'clients (`azp` or `client_id`) that tokens may be issued to; with this list, a token may also have other audiences',
    }),
    tokenType: setting(oneOf('any', 'access'), {
      default: 'any',
      doc: '`any`, or `access`: only tokens of the type `at+jwt` (RFC 9068)',
    }),
    clockTolerance: setting(durationUpTo('5m'), {
      default: '30s',
      doc: 'how far the clocks of issuer and gateway may differ',
    }),
    maxTokenAge: setting(durationUpTo('366d'), {
      default: '24h',
      doc: 'how long after its `iat` a token is accepted, whatever its `exp` says',
    }),
    ...CLAIMS,
  }),
  introspection: list('endpoints that say whom an opaque token belongs to (RFC 7662)', {
    url: setting(OUTGOING_URL, {
      required: true,
      example: 'https://id.example.org/introspect',
      doc: 'URL of the endpoint',
    }),
    clientId: setting(TEXT, {
      required: true,
      example: 'bailiwick',
      doc: 'client id of the gateway at the endpoint',
    }),
    clientSecretFile: setting(PATH, {
      required: true,
      file: 'secret',
      example: 'secrets/introspection',
      doc: 'file that holds the secret of that client, read at the start',
    }),
    provider: setting(PROVIDER, { required: true, example: 'facility', doc: PROVIDER_DOC }),
    audience: setting(TEXTS, {
      example: 'bailiwick',
      doc: 'value that `aud` of the answer must have; may be a list (default: the endpoint decides which tokens are for this gateway)',
    }),
    tokenPrefix: setting(TEXT, {
      example: 'facility_',
      doc: 'prefix of the tokens of this endpoint; required if there are several endpoints',
    }),
    cacheTime: setting(durationUpTo('1m'), {
      default: '10s',
      doc: 'how long an answer is used; a token that was revoked there may be accepted for that long',
    }),
    ...CLAIMS,
  }),
  mtls: optional('certificates of clients; this needs `tls`', {
    caFile: setting(PATH, {
      required: true,
      file: 'authorities',
      example: 'secrets/clients-ca.crt',
      doc: 'PEM file with the authorities whose client certificates are accepted',
    }),
    provider: setting(PROVIDER, {
      required: true,
      example: 'workloads',
      doc: 'provider of the policy; a certificate is for the identity `<provider>:<name>`',
    }),
    subjectFrom: setting(oneOf('san:uri', 'san:email', 'subject:cn'), {
      required: true,
      example: 'san:uri',
      doc: 'field of the certificate that holds the subject; there must be exactly one',
    }),
  }),
  anonymous: optional('callers without a credential: they read what the policy grants to one identity', {
    identity: setting(IDENTITY, {
      required: true,
      example: 'public:anyone',
      doc: 'the identity of such requests; the policy must declare its provider, and no issuer may have it',
    }),
  }),
  revocationsFile: setting(PATH, {
    file: 'revocations',
    example: 'revoked.txt',
    doc: 'file of revoked credentials, one fingerprint per line; read again when it changes',
  }),
});
