// What an unknown error says of itself. By its properties, not its class: errors of Node, of the driver and of another
// thread are not all instances of this realm's `Error`.

/** `code` of a system or database error; null if it has none. */
export function codeOf(error: unknown): string | null {
  const code = propertyOf(error, 'code');
  return typeof code === 'string' ? code : null;
}

/** The SQLSTATE of an error of the database; its message may quote SQL and values. Null for any other error. */
export function sqlStateOf(error: unknown): string | null {
  const code = codeOf(error);
  return code !== null && /^[0-9A-Z]{5}$/.test(code) && propertyOf(error, 'severity') !== undefined ? code : null;
}

/** The message, or the code where the message is empty (a refused connection to several addresses has none). */
export function reasonOf(error: unknown): string {
  const message = propertyOf(error, 'message');
  if (typeof message === 'string' && message !== '') return message;
  return codeOf(error) ?? String(error);
}

/** True for an error of the server that ends the connection. */
export function endsConnection(error: unknown): boolean {
  const severity = propertyOf(error, 'severity');
  return severity === 'FATAL' || severity === 'PANIC';
}

function propertyOf(error: unknown, name: string): unknown {
  return typeof error === 'object' && error !== null ? Reflect.get(error, name) : undefined;
}
