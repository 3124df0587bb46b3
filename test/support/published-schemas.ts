// The published schemas of SARIF 2.1.0 and of JUnit's reports (that of the Jenkins xUnit plugin). Every report is
// checked against them. The schema of SARIF comes in a package that is used for nothing else.
import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';
import { Ajv, type AnySchemaObject } from 'ajv';
import { validateXML } from 'xmllint-wasm';
import { fromRoot } from './root.js';

const SARIF = createRequire(import.meta.url).resolve('@microsoft/jest-sarif/lib/schemas/sarif-2.1.0-rtm.5.json');
const JUNIT = fromRoot('fixtures/schemas/junit.xsd');

const URI_CHARACTERS = /^(?:[\w!#$&'()*+,\-./:;=?@[\]~]|%[0-9A-Fa-f]{2})*$/;
const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/;

/** Draft 4 says `id` where later drafts say `$id`, and its patterns are not all Unicode ones; else it uses what they share. */
function compileSarif(): (log: unknown) => readonly object[] {
  const { $schema, id, ...schema } = JSON.parse(readFileSync(SARIF, 'utf8')) as AnySchemaObject;
  if ($schema !== 'http://json-schema.org/draft-04/schema#' || typeof id !== 'string')
    throw new Error('the schema of SARIF is not of the draft that it was');
  const ajv = new Ajv({
    strict: true,
    strictTypes: false,
    strictRequired: false,
    unicodeRegExp: false,
    allErrors: true,
  });
  ajv.addFormat('uri', (text: string) => URL.canParse(text) && URI_CHARACTERS.test(text));
  ajv.addFormat('uri-reference', (text: string) => URL.canParse(text, 'http://host/') && URI_CHARACTERS.test(text));
  ajv.addFormat('date-time', (text: string) => INSTANT.test(text) && !Number.isNaN(Date.parse(text)));
  const validate = ajv.compile(schema);
  return (log) => (validate(log) === true ? [] : (validate.errors ?? []));
}

/** What is wrong with a SARIF log, by the schema. */
export const sarifFaults = compileSarif();

/** What is wrong with JUnit reports, by the schema, in the words of xmllint with the number of the report. */
export async function junitFaults(reports: readonly string[]): Promise<readonly string[]> {
  const { errors } = await validateXML({
    xml: reports.map((contents, index) => ({ fileName: `report-${String(index)}.xml`, contents })),
    schema: readFileSync(JUNIT, 'utf8'),
  });
  return errors.map(({ rawMessage }) => rawMessage);
}
