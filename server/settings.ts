// The settings that can be given as a flag or a variable: one table for the help texts and for reading them (design 5).

export type SettingName = 'config' | 'dataDir' | 'databaseUrl' | 'policy' | 'listen';

interface Setting {
  /** As commander takes it. */
  readonly flags: string;
  readonly description: string;
  /** The first that is set counts. */
  readonly env: readonly string[];
}

export const SETTINGS: Readonly<Record<SettingName, Setting>> = Object.freeze({
  config: {
    flags: '--config <file>',
    description: 'settings file (default: bailiwick.yaml, if there is one)',
    env: ['BAILIWICK_CONFIG'],
  },
  dataDir: {
    flags: '--data-dir <folder>',
    description: 'folder of the embedded store (default: .bailiwick)',
    env: ['BAILIWICK_DATA_DIR'],
  },
  databaseUrl: {
    flags: '--database-url <url>',
    description:
      'an external PostgreSQL instead of the embedded store; better given as DATABASE_URL, which other users of this machine cannot see',
    env: ['BAILIWICK_DATABASE_URL', 'DATABASE_URL'],
  },
  policy: {
    flags: '--policy <path>',
    description: 'policy folder (checked and compiled first) or snapshot file',
    env: ['BAILIWICK_POLICY'],
  },
  listen: {
    flags: '--listen <host:port>',
    description: 'address of the API (default: 127.0.0.1:8080)',
    env: ['BAILIWICK_LISTEN'],
  },
});
