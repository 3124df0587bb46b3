// The console as `make build` made it, for whoever serves it: the page, and the headers that keep it to itself.
import { readFileSync } from 'node:fs';

/** How somebody proves in the page who they are: with an admin key, or with the address that `bailiwick console` printed. */
export type ConsoleDoor = 'key' | 'address';

export interface ConsolePage {
  readonly html: string;
  /** Name, value, name, value; without those of every answer. */
  readonly headers: readonly string[];
}

const SLOT = '<!--data-->';
const ENGINE_SLOT = '<!--engine-->';
/** The script of the engine's thread, which the page starts itself: no hash of its policy depends on it. */
const ENGINE = /<script type="text\/plain" id="engine">(.*?)<\/script>/s;
const POLICY = /<meta http-equiv="Content-Security-Policy" content="([^"]+)">/;

/** Throws if this installation does not have the page. */
export function consolePage(door: ConsoleDoor): ConsolePage {
  const [page, playground] = ['console', 'playground'].map((name) =>
    readFileSync(new URL(`../console/${name}.html`, import.meta.url), 'utf8'),
  );
  const [policy, engine] = [POLICY.exec(page ?? '')?.[1], ENGINE.exec(playground ?? '')?.[1]];
  if (page === undefined || policy === undefined || engine === undefined)
    throw new Error('the page of the console was not made by this version');
  return {
    // Not as a pattern of `replace`: a script is full of dollars.
    html: page.split(SLOT).join(JSON.stringify(door)).split(ENGINE_SLOT).join(engine),
    headers: [
      // A page in itself cannot forbid others to frame it.
      'Content-Security-Policy',
      `${policy}; frame-ancestors 'none'`,
      'Referrer-Policy',
      'no-referrer',
      'Cross-Origin-Opener-Policy',
      'same-origin',
      'Cross-Origin-Resource-Policy',
      'same-origin',
    ],
  };
}
