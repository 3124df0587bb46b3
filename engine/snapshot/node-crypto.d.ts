// All that the engine may use of Node: this declaration is the allow-list, any other `node:` import fails to compile.
declare module 'node:crypto' {
  export function hash(algorithm: 'sha256', data: string | Uint8Array, outputEncoding: 'hex' | 'latin1'): string;
  export function createHash(algorithm: 'sha256'): { update(data: string): void; digest(encoding: 'hex'): string };
}
