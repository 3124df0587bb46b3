// An operation's example as a shell command for one address, with the key in `BAILIWICK_KEY`.
import type { Parameter } from './description.js';

interface Example {
  /** Of the gateway: scheme and authority. */
  readonly address: string;
  readonly method: string;
  readonly path: string;
  readonly parameters: readonly Parameter[];
  /** Undefined if it takes no body. */
  readonly body: unknown;
  readonly type: string | undefined;
  readonly credential: boolean;
}

export function curlCommand({ address, method, path, parameters, body, type, credential }: Example): string {
  const required = parameters.filter((one) => one.required);
  const query = required
    .filter((one) => one.in === 'query')
    .map(({ name, example }) => `${name}=${encodeURIComponent(example)}`);
  const filled = required
    .filter((one) => one.in === 'path')
    .reduce((text, { name, example }) => text.replace(`{${name}}`, example), path);
  const headers = required.filter((one) => one.in === 'header').map(({ name, example }) => `${name}: ${example}`);
  const target = `"${address}${filled}${query.length === 0 ? '' : `?${query.join('&')}`}"`;
  const verb = method === (body === undefined ? 'GET' : 'POST') ? '' : ` -X ${method}`;
  const lines = [
    `curl -s${verb} ${target}`,
    ...(credential ? ['-H "Authorization: Bearer $BAILIWICK_KEY"'] : []),
    ...[...(type === undefined ? [] : [`Content-Type: ${type}`]), ...headers].map((header) => `-H ${quote(header)}`),
    ...(body === undefined ? [] : [`-d ${quote(JSON.stringify(body))}`]),
  ];
  return lines.join(' \\\n  ');
}

function quote(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
