// The scopes of declared families, found by their text. It is looked up for every decision about one of them, so it is found by a few
// letters and a comparison: a map would read every letter of a new string twice. A policy whose scopes agree in these letters is only slower.
export interface OwnScopes {
  /** Sorted. The place of each among the bits of a set is its place here, after those of the ten. */
  readonly names: readonly string[];
  /** One more than a place in `names`; 0 where nothing is. */
  readonly slots: Uint8Array;
}

/** Four for each scope that a policy may have. */
const SLOTS = 256;

/** `names` must be sorted. */
export function indexOwn(names: readonly string[]): OwnScopes {
  const slots = new Uint8Array(SLOTS);
  names.forEach((name, place) => {
    let slot = slotOf(name);
    while (slots[slot] !== 0) slot = (slot + 1) % SLOTS;
    slots[slot] = place + 1;
  });
  return { names, slots };
}

/** Its place, or -1 if the policy does not declare it. */
export function placeOfOwn({ names, slots }: OwnScopes, text: string): number {
  for (let slot = slotOf(text); ; slot = (slot + 1) % SLOTS) {
    const place = (slots[slot] ?? 0) - 1;
    if (place < 0 || names[place] === text) return place;
  }
}

/** From the length, and the letters at which scopes differ most: those of a family, and the last but one of an action. */
function slotOf(text: string): number {
  const { length } = text;
  const ofFamily = text.charCodeAt(0) * 31 + text.charCodeAt((length * 5) >> 3);
  return Math.imul((ofFamily * 31 + text.charCodeAt(length - 2)) * 31 + length, 0x9e3779b1) >>> 24;
}
