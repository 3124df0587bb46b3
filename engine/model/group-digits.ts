// How every message writes a count.

/** `1,204,000` */
export function groupDigits(number: bigint | number): string {
  return String(number).replace(/\B(?=(?:\d{3})+$)/g, ',');
}
