// The settings of `snapshot`: where the policy comes from, who must have signed it, and how old it may be.
import { group, setting } from './setting.js';
import {
  AGE_OR_OFF,
  DURATION,
  FLAG,
  GIT_REF,
  NAME,
  OUTGOING_URL,
  PATH,
  PATH_INSIDE,
  PATH_OR_NONE,
} from './value-types.js';

export const SNAPSHOT = group('which policy may be served, and for how long', {
  source: group('where the policy comes from, unless `policy` names a path', {
    directory: setting(PATH, {
      default: null,
      flag: '--policy-directory <folder>',
      choice: 'policy',
      doc: 'directory store that `bailiwick publish --to` writes',
      example: '/srv/policies',
    }),
    url: setting(OUTGOING_URL, {
      default: null,
      flag: '--policy-url <url>',
      choice: 'policy',
      doc: 'address of a snapshot; the address of its statement has `.dsse.json` added to the path',
      example: 'https://policies.example.org/snapshot.json',
    }),
    caFile: setting(PATH, {
      default: null,
      needs: 'snapshot.source.url',
      file: 'authorities',
      doc: 'PEM file with the certificates of the authorities that are trusted for this address (default: those of Node)',
      example: '/etc/bailiwick/policies-ca.crt',
    }),
    privateNetwork: setting(FLAG, {
      default: false,
      needs: 'snapshot.source.url',
      doc: 'whether the address may be in a private network, such as 10.0.0.0/8',
    }),
    git: setting(PATH, {
      default: null,
      flag: '--policy-git <repository>',
      choice: 'policy',
      doc: 'git repository of this machine, a checkout or a bare one',
      example: '/srv/policies.git',
    }),
    ref: setting(GIT_REF, {
      default: null,
      needs: 'snapshot.source.git',
      doc: 'full name of the branch or tag (default: refs/heads/main)',
      example: 'refs/heads/main',
    }),
    path: setting(PATH_INSIDE, {
      default: null,
      needs: 'snapshot.source.git',
      doc: 'policy folder or snapshot in the repository (default: its top folder)',
      example: 'policies',
    }),
    signersFile: setting(PATH, {
      default: null,
      needs: 'snapshot.source.git',
      file: 'signers',
      doc: 'allowed signers, in the format of `ssh-keygen`: one of them must have signed the commit, or the tag',
      example: '/etc/bailiwick/allowed_signers',
    }),
  }),
  poll: setting(DURATION, {
    default: '2s',
    doc: 'how often the policy is checked for changes; a changed policy is verified before it replaces the old one',
  }),
  requireSignature: setting(FLAG, {
    default: false,
    flag: '--require-signature',
    needs: 'snapshot.keyringFile',
    doc: 'serve a snapshot only with a valid statement: signed, for this environment, and not expired',
  }),
  keyringFile: setting(PATH, {
    default: null,
    flag: '--keyring <file>',
    needs: 'snapshot.environment',
    file: 'keyring',
    doc: 'file with the public keys that may sign, and how many of them must have signed',
    example: '/etc/bailiwick/keyring.yaml',
  }),
  environment: setting(NAME, {
    default: null,
    flag: '--environment <name>',
    doc: 'environment that the statement of a snapshot must name',
    example: 'production',
  }),
  tableFolder: setting(PATH_OR_NONE, {
    default: null,
    doc: 'folder for the tables of large policies, which make the next start quick (default: `tables` in the data folder of an embedded store, unless signatures are required); `none` keeps none',
    example: '/var/lib/bailiwick/tables',
  }),
  softAge: setting(AGE_OR_OFF, {
    default: null,
    doc: 'age at which the log warns; the age of a policy is the time since it was last found at its path',
    example: '1h',
  }),
  hardAge: setting(AGE_OR_OFF, {
    default: null,
    doc: 'age at which the gateway stops deciding and answers 503 `snapshot.expired`',
    example: '24h',
  }),
});
