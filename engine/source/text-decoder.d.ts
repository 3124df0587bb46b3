// The one global beyond the language that reading needs: the decoder of UTF-8. What is not declared here does not compile.
declare class TextDecoder {
  constructor(label: 'utf-8', options: { readonly fatal: boolean; readonly ignoreBOM: true });
  decode(bytes: Uint8Array): string;
}
