// The web platform's encoder, which Node has as a global: the engine's compiler settings know no globals of Node.
declare class TextEncoder {
  encode(text: string): Uint8Array;
}
