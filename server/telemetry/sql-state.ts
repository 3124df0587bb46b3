// Which messages of PostgreSQL an operator may see. Most name servers, roles, files and limits, and say what is wrong
// better than their SQLSTATE does. Those about data and about the text of a statement quote values, so they are kept.

/** Classes and codes of PostgreSQL, its appendix A. */
const TOLD: ReadonlySet<string> = new Set([
  ...['08', '26', '28', '3D', '40', '53', '55', '57', '58', 'F0', 'XX'],
  ...['0A000', '42703', '42P01', '42P05'],
]);

export function isTold(sqlState: string): boolean {
  return TOLD.has(sqlState) || TOLD.has(sqlState.slice(0, 2));
}
