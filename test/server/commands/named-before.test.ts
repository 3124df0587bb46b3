// What a command says of itself before anything is read. A batch locks by it, in one order for all, so that no two
// batches wait for each other (lock-in-order.ts).
import { expect, it } from '@jest/globals';
import { ROOT } from '../../../engine/index.js';
import {
  archiveRecord,
  changeRecord,
  type RecordPatch,
  restoreRecord,
  type Target,
} from '../../../server/commands/change-record.js';
import type { Command } from '../../../server/commands/command.js';
import { copyRecord } from '../../../server/commands/copy-record.js';
import { createRecord } from '../../../server/commands/create-record.js';
import { deleteRecord } from '../../../server/commands/delete-record.js';
import { moveRecord } from '../../../server/commands/move-record.js';
import { putByName } from '../../../server/commands/put-by-name.js';
import { putNamespace } from '../../../server/commands/put-namespace.js';
import { versionTemplate } from '../../../server/commands/version-template.js';

const id = 'a record';
const ifMatch = '"1"';
const at = { namespace: ROOT };
const record: Target = { family: 'resource', id, ifMatch };
const run: Target = { family: 'process-run', id, ifMatch };
const model: Target = { family: 'resource-template', id, ifMatch };
const namespace: Target = { family: 'namespace', path: ROOT, ifMatch };
const copying = { id: 'its copy', source: id, destination: ROOT, name: undefined, properties: undefined };
const asCopied = { record: id, refersLike: id };
const slots = [{ name: 's', template: 'THE SLOT' }];

it.each<[what: string, command: () => Command, said: object]>([
  ['makes a resource', () => created('resource', { name: 'n', template: 'THE TEMPLATE' }), { refersTo: ['the template'], gives: { family: 'resource', ...at, name: 'n', template: 'THE TEMPLATE', makes: id } }], // prettier-ignore
  ['makes a run without a name', () => created('process-run', { resources: { s: 'USED' } }), { refersTo: ['used'], gives: { family: 'process-run', ...at, name: null, template: null, makes: id } }], // prettier-ignore
  [
    'makes a template, whose name others may have',
    () => created('process-template', { slots }),
    { refersTo: ['the slot'] },
  ],
  ['makes a namespace', () => putNamespace({ id, ...at, fields: {} }), {}],
  ['copies', () => copyRecord({ family: 'resource', ...copying }), { ...asCopied, gives: { family: 'resource', ...at, name: undefined, of: id, makes: 'its copy' } }], // prettier-ignore
  ['copies under a name', () => copyRecord({ family: 'process-run', ...copying, name: 'n' }), { ...asCopied, gives: { family: 'process-run', ...at, name: 'n', of: id, makes: 'its copy' } }], // prettier-ignore
  ['makes a version', () => versionTemplate({ id: 'new', family: 'process-template', source: id, fields: { version: '2' } }), asCopied], // prettier-ignore
  ['makes a version with other slots', () => versionTemplate({ id: 'new', family: 'process-template', source: id, fields: { version: '2', slots } }), { record: id, refersTo: ['the slot'] }], // prettier-ignore
  ['moves a resource', () => moveRecord({ family: 'resource', id, ifMatch, destination: ROOT }), { ...asCopied, touches: { family: 'resource', id }, gives: { family: 'resource', ...at, of: id } }], // prettier-ignore
  ['moves a template', () => moveRecord({ family: 'resource-template', id, ifMatch, destination: ROOT }), { ...asCopied, touches: { family: 'resource-template', id } }], // prettier-ignore
  [
    'deletes',
    () => deleteRecord({ family: 'resource', id, ifMatch }),
    { record: id, touches: { family: 'resource', id } },
  ],
  ['renames', () => changeRecord(record, { name: 'n' }), changed(record, { name: 'n', template: undefined })],
  ['gives a template', () => changeRecord(record, { template: 'THE TEMPLATE' }), { ...changed(record, { name: undefined, template: 'THE TEMPLATE' }), refersTo: ['the template'] }], // prettier-ignore
  ['takes a name and a template away', () => changeRecord(run, { name: null, template: null }), changed(run, { name: null, template: null })], // prettier-ignore
  ['gives a run resources', () => changeRecord(run, { resources: { s: 'USED', t: null } }), { ...changed(run), refersTo: ['used'] }], // prettier-ignore
  ['takes all resources away', () => changeRecord(run, { resources: null }), changed(run)],
  ['changes something else', () => changeRecord(record, { description: 'd' }), changed(record)],
  ['renames a template, whose name others may have', () => changeRecord(model, { name: 'n' }), changed(model)],
  ['changes a namespace', () => changeRecord(namespace, { name: 'n' } satisfies RecordPatch), { touches: namespace, refersTo: [] }], // prettier-ignore
  ['archives', () => archiveRecord(record), changed(record)],
  ['restores, and its name may have been taken', () => restoreRecord(record), changed(record, {})],
  ['restores a template', () => restoreRecord(model), changed(model)],
  ['puts by name', () => putByName({ id: 'new', ...at, name: 'n', fields: { template: 'THE TEMPLATE' }, ifMatch: null, may: 'create' }), { touches: { family: 'resource', ...at, name: 'n' }, refersTo: ['the template'] }], // prettier-ignore
])('one that %s says which records and names are to be locked', (_what, command, said) => {
  const { operation: _operation, prepare: _prepare, ...found } = command();
  expect(found).toStrictEqual(said);
});

it.each([
  ['resource.create', () => created('resource', {})],
  ['namespace.create', () => putNamespace({ id, ...at, fields: {} })],
  ['resource.copy', () => copyRecord({ family: 'resource', ...copying })],
  ['resource-template.version', () => versionTemplate({ id, family: 'resource-template', source: id, fields: { version: '2' } })], // prettier-ignore
  ['process-run.move', () => moveRecord({ family: 'process-run', id, ifMatch, destination: ROOT })],
  ['process-run.delete', () => deleteRecord({ family: 'process-run', id, ifMatch })],
  ['process-run.change', () => changeRecord(run, {})],
  ['namespace.archive', () => archiveRecord(namespace)],
  ['namespace.restore', () => restoreRecord(namespace)],
  ['resource.put', () => putByName({ id, ...at, name: 'n', fields: { template: id }, ifMatch: null, may: 'create' })],
])('the audit log calls it %s', (operation, command) => {
  expect(command().operation).toBe(operation);
});

function created(family: 'resource' | 'process-run' | 'process-template', fields: object): Command {
  return createRecord({ id, family, ...at, fields });
}

/** What a change says of the record that it locks, and of the name that it gives. */
function changed(target: Target & { readonly id?: string }, gives?: object): object {
  const { family } = target;
  return {
    record: id,
    touches: target,
    refersTo: [],
    ...(gives === undefined ? {} : { gives: { family, of: id, ...gives } }),
  };
}
