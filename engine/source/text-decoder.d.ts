// Declares the only global outside the language that reading needs: the UTF-8 decoder. Anything not declared here does not compile.
declare class TextDecoder {
  constructor(label: 'utf-8', options: { readonly fatal: boolean; readonly ignoreBOM: true });
  decode(bytes: Uint8Array): string;
}
