// Why a file is not used as a snapshot.

export type SnapshotFaultCode =
  | 'snapshot.too_large'
  | 'snapshot.malformed'
  | 'snapshot.seal'
  | 'snapshot.format'
  | 'snapshot.shape'
  | 'snapshot.not_canonical'
  | 'snapshot.content'
  | 'snapshot.limit'
  | 'snapshot.decisions';

export interface SnapshotFault {
  readonly code: SnapshotFaultCode;
  readonly message: string;
}
