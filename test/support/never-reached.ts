// Addresses that no request of a gateway may go to: link-local ones, where clouds keep their secrets, in all their
// spellings.

/** As hosts of URLs. */
export const NEVER_REACHED = [
  '169.254.169.254',
  '2852039166',
  '[::ffff:169.254.169.254]',
  '[64:ff9b::a9fe:a9fe]',
  '[fe80::1]',
  '[fd00:ec2::254]',
  '100.100.100.200',
  '0.0.0.0',
  '[::]',
  '224.0.0.1',
] as const;
