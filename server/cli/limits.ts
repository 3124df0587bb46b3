// Maxima of the command line, in one object; those of policies are the engine's.

export const CLI_LIMITS = Object.freeze({
  /** Folders inside one another in a policy. */
  folderDepth: 32,
  /** Bytes of a snapshot file, as the engine has it: more are not even read. */
  snapshotBytes: 400 * 1024 * 1024,
  /** Bytes of one line of requests. */
  requestBytes: 1024 * 1024,
  /** Arrays and objects inside one another in a line of requests. */
  requestDepth: 16,
});
