// The shape of `bailiwick.yaml` (interfaces.md, configuration) as far as this version has it, and the documented keys that it
// does not have, so that they are refused by name.

export interface ConfigDocument {
  readonly dataDir?: string;
  readonly databaseUrl?: string;
  readonly policy?: string;
  readonly listen?: string;
  readonly authentication?: { readonly keys?: { readonly enabled?: boolean } };
  readonly limits?: {
    readonly rate?: { readonly perActor?: number; readonly perAddress?: number; readonly unauthenticated?: number };
  };
}

const TEXT = { type: 'string' } as const;
const RATE = { type: 'integer', minimum: 0, maximum: 1_000_000 } as const;

export const CONFIG_SCHEMA = {
  type: 'object',
  additionalProperties: false,
  properties: {
    dataDir: TEXT,
    databaseUrl: TEXT,
    policy: TEXT,
    listen: TEXT,
    authentication: {
      type: 'object',
      additionalProperties: false,
      properties: {
        keys: { type: 'object', additionalProperties: false, properties: { enabled: { type: 'boolean' } } },
      },
    },
    limits: {
      type: 'object',
      additionalProperties: false,
      properties: {
        rate: {
          type: 'object',
          additionalProperties: false,
          properties: { perActor: RATE, perAddress: RATE, unauthenticated: RATE },
        },
      },
    },
  },
} as const;

export const LATER_KEYS: ReadonlySet<string> = new Set([
  'adminListen',
  'secretsFile',
  'workers',
  'authentication.oidc',
  'authentication.introspection',
  'authentication.mtls',
  'authentication.revocationsFile',
  'snapshot',
  'audit',
  'tls',
  'limits.auditLag',
  'limits.idempotency',
  'limits.expandedRows',
]);
