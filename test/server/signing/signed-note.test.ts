// Signed notes against the published examples of the Go package sumdb/note and of the C2SP pages.
import { expect, it } from '@jest/globals';
import { openPrivatePem } from '../../../server/signing/ed25519.js';
import { parseNote, signNote, verifierKeyText } from '../../../server/signing/signed-note.js';

const NAME = 'PeterNeumann';
const VERIFIER = 'PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW';
const TEXT = "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n";
const NOTE = `${TEXT}\n\u2014 PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n`;
/** The seed of the published signer key, as a PKCS #8 file. */
const SEED = Buffer.from('AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz', 'base64').subarray(1);
const DER = Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), SEED]);
const PEM = `-----BEGIN PRIVATE KEY-----\n${DER.toString('base64')}\n-----END PRIVATE KEY-----\n`;

const publicKey = Buffer.from(VERIFIER.split('+').at(-1) ?? '', 'base64').subarray(1);

it('signs the published note to the byte', () => {
  const key = openPrivatePem(PEM);
  expect(key === null ? null : signNote(TEXT, NAME, key)).toBe(NOTE);
  expect(verifierKeyText({ name: NAME, publicKey })).toBe(VERIFIER);
});

it('verifies it, ignores unknown keys, and refuses what was changed', () => {
  const note = parseNote(NOTE);
  expect([note?.text, note?.isSignedBy({ name: NAME, publicKey })]).toEqual([TEXT, true]);
  expect(note?.isSignedBy({ name: 'EnochRoot', publicKey })).toBeNull();
  const changed = parseNote(NOTE.replace('answer', 'Answer'));
  expect(changed?.isSignedBy({ name: NAME, publicKey })).toBe(false);
});

it('takes the last empty line for the end of the text, which may have others', () => {
  const page = `Ognuno sta solo sul cuor della terra\ntrafitto da un raggio di sole:\n\ned \u00e8 subito sera.\n`;
  const signature = 'NnugSzTjtVAewIS+Z/iJhUPeFDkO/5QQ2i5ddnGITLlC+EhfLW9oJKONrMouFSQU0xMcXxj99ihAQwaqP3ZekRwNtIc=';
  expect(parseNote(`${page}\n\u2014 quasimodo.example/salvatore ${signature}\n`)?.text).toBe(page);
});

it.each([
  ['no signature', TEXT],
  ['no empty line', NOTE.replace('\n\n', '\n')],
  ['no line end', NOTE.slice(0, -1)],
  ['a hyphen for the dash', NOTE.replace('\u2014', '-')],
  ['a control character', NOTE.replace('answer', 'an\tswer')],
  ['a name with a plus', NOTE.replace('PeterNeumann', 'Peter+Neumann')],
])('is no note with %s', (_, note) => {
  expect(parseNote(note)).toBeNull();
});
