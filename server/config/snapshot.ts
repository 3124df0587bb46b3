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
      flag: '--policy-directory <folder>',
      choice: 'policy',
      doc: 'directory store, as written by `bailiwick publish --to`',
      example: '/srv/policies',
    }),
    url: setting(OUTGOING_URL, {
      flag: '--policy-url <url>',
      choice: 'policy',
      doc: 'URL of a snapshot; the URL of its statement has `.dsse.json` added to the path',
      example: 'https://policies.example.org/snapshot.json',
    }),
    caFile: setting(PATH, {
      needs: 'snapshot.source.url',
      file: 'authorities',
      doc: 'PEM file with the certificate authorities that are trusted for this URL (default: those of Node)',
      example: '/etc/bailiwick/policies-ca.crt',
    }),
    privateNetwork: setting(FLAG, {
      default: false,
      needs: 'snapshot.source.url',
      doc: 'whether the URL may lead into a private network, such as 10.0.0.0/8',
    }),
    git: setting(PATH, {
      flag: '--policy-git <repository>',
      choice: 'policy',
      doc: 'git repository on this machine, a checkout or a bare one',
      example: '/srv/policies.git',
    }),
    ref: setting(GIT_REF, {
      needs: 'snapshot.source.git',
      doc: 'full name of the branch or tag (default: refs/heads/main)',
      example: 'refs/heads/main',
    }),
    path: setting(PATH_INSIDE, {
      needs: 'snapshot.source.git',
      doc: 'policy folder or snapshot in the repository (default: its top folder)',
      example: 'policies',
    }),
    signersFile: setting(PATH, {
      needs: 'snapshot.source.git',
      file: 'signers',
      doc: 'file of allowed signers, in the format of `ssh-keygen`; one of them must have signed the commit or the tag',
      example: '/etc/bailiwick/allowed_signers',
    }),
  }),
  poll: setting(DURATION, {
    default: '2s',
    doc: 'how often the policy is checked for changes; a changed policy is verified before it is used',
  }),
  requireSignature: setting(FLAG, {
    default: false,
    flag: '--require-signature',
    needs: 'snapshot.keyringFile',
    doc: 'whether a snapshot is served only with a valid statement: signed, for this environment, and not expired',
  }),
  keyringFile: setting(PATH, {
    flag: '--keyring <file>',
    needs: 'snapshot.environment',
    file: 'keyring',
    doc: 'file with the trusted public keys, and how many of them must have signed',
    example: '/etc/bailiwick/keyring.yaml',
  }),
  environment: setting(NAME, {
    flag: '--environment <name>',
    doc: 'environment that the statement of a snapshot must name',
    example: 'production',
  }),
  tableFolder: setting(PATH_OR_NONE, {
    doc: 'folder for the derived tables of large policies, which make the next start faster (default: `tables` in the data folder of an embedded store, unless signatures are required); `none` keeps no tables',
    example: '/var/lib/bailiwick/tables',
  }),
  softAge: setting(AGE_OR_OFF, {
    doc: 'age of the policy at which the log warns: the time since the policy was last found at its source (default: no limit)',
    example: '1h',
  }),
  hardAge: setting(AGE_OR_OFF, {
    doc: 'age of the policy at which the gateway stops deciding and answers 503 `snapshot.expired` (default: no limit)',
    example: '24h',
  }),
});
