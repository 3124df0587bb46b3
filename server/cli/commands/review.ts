// `bailiwick review start|check|report|verify`: who holds what, decided row by row, and what has come of it (docs/access-review.md).
import { CHECK, REPORT, START, VERIFY } from '../takes/review.js';
import { group, verb } from '../verb.js';

const start = verb(START, async (io, given) => (await import('../start-review.js')).startReview(io, given), {
  description: 'freeze every right that somebody holds, and write a sheet in which reviewers decide: keep or revoke',
  examples: {
    'all access, with its last use': 'bailiwick review start policies --log .bailiwick/audit -o q4.json',
    'who may write at one beamline':
      'bailiwick review start policies --under /beamlines/amx --scope "*:write" -o amx.json',
    'one person': 'bailiwick review start policies --person ana-ortiz -o ana.json',
  },
  json: [
    '{"file","sheet","review":1,"version","policy","snapshot","decisions","at","selection":{"under","persons","identities","scopes"},',
    ' "usage":{"events","from","until","shortened"}|null,"counts":{"rows","people","groups","identities","grants"},"digest"}',
    'null in `selection` means all. The file has "rows" too: {"id","identity","person"?,"namespace","extent","scopes","from","until",',
    '"grant":{"id","namespace","reason"?,"file","line"},"ways":[[{"role","file","line","notBefore"?,"expires"?}]],"lastUsed"?}',
  ],
});

const check = verb(CHECK, async (io, given) => (await import('../check-review.js')).checkReview(io, given), {
  description: 'list rows without a decision, revoked access that is still held, and access that appeared since',
  examples: {
    'with the sheet beside the file': 'bailiwick review check q4.json policies',
    'with the sheets of two reviewers':
      'bailiwick review check q4.json policies --decisions ana.csv --decisions ben.csv',
    'every row with its decision and state': 'bailiwick review check q4.json policies --format csv > q4-checked.csv',
  },
  json: [
    '{"ok","review":{"policy","snapshot","at","selection","digest"},"version","snapshot","decisions","at",',
    ' "totals":{"rows","kept","revoked","undecided"},"revoked":{"ended","gone","covered","partly","held"},"states":[state of each row],',
    ' "stillHeld":[{"row","identity","person"?,"state","left":[Region + {"scopes","from","until","grants":[GrantRef]}]}],',
    ' "covered","lapsed","ownDecisions":[{"row","identity","person"?}],"appeared":[Region + {"identities","scopes","from","until","causes":[GrantRef]}],',
    ' "missing":[{"row","why":"blank"|"absent"}],"faults":[{"code","sheet","line","row"?,"message"}]}',
    'Exit status: 8 if a line of a sheet cannot be used, else 6 if rows are not decided, else 7 if revoked access is still held.',
  ],
});

const report = verb(REPORT, async (io, given) => (await import('../report-review.js')).reportReview(io, given), {
  description: 'sign the population, the decisions and the outcome as one file; every row must have a decision',
  examples: {
    'the first signature': 'bailiwick review report q4.json policies --key ciso.key -o q4.dsse.json',
    'a second one, by somebody who has the same files':
      'bailiwick review report q4.json policies --key audit.key --add q4.dsse.json',
  },
  json: ['{"file","digest","snapshot","at","keyId","signatures","totals","revoked"}'],
});

const verify = verb(VERIFY, async (io, given) => (await import('../report-review.js')).verifyReport(io, given), {
  description: 'check who signed a report, that it decides every row, and with --policy that no row is missing',
  examples: {
    'signatures and rows': 'bailiwick review verify q4.dsse.json --keyring keyring.yaml --policy snapshot.json',
    'as a table': 'bailiwick review verify q4.dsse.json --keyring keyring.yaml --format csv > q4.csv',
  },
  json: [
    '{"ok":true,"complete"?:true,"signatures":[{"keyId","name","ok","reason"?}],"population","decisions":[{"row","decision","by":[{"reviewer","note"?}]}],"outcome"}',
  ],
});

export const defineReview = group({
  verbs: { start, check, report, verify },
  examples: {
    'freeze who holds what, with a sheet for the reviewers': 'bailiwick review start policies -o q4.json',
    'which decisions are missing, and which revoked access is still held': 'bailiwick review check q4.json policies',
    'one signed file': 'bailiwick review report q4.json policies --key ciso.key -o q4.dsse.json',
  },
});
