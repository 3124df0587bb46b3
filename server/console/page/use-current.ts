// Asks again whenever what is asked changes. What is answered after that is dropped.
import { useEffect } from 'preact/hooks';

/** `ask` looks after each wait whether its question is still the current one. What it returns is called at the end. */
export function useCurrent(
  question: readonly unknown[],
  ask: (isCurrent: () => boolean) => (() => void) | undefined,
): void {
  useEffect(() => {
    let isCurrent = true;
    const end = ask(() => isCurrent);
    return () => {
      isCurrent = false;
      end?.();
    };
  }, question);
}
