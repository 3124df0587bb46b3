// Everything that is wrong with a configuration, at once.

/** `place` is a flag, a variable or `file:line:column`; no text ever repeats a value. */
export interface ConfigFault {
  readonly place: string;
  readonly message: string;
  /** What to do about it, if the message does not say it. */
  readonly fix?: string;
}

export function configFaultsText(faults: readonly ConfigFault[]): string {
  return faults.length === 1
    ? 'the configuration has an error'
    : `the configuration has ${String(faults.length)} errors`;
}

/** All faults of a configuration. Their messages are safe to print. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly faults: readonly ConfigFault[];

  constructor(faults: readonly ConfigFault[]) {
    super(configFaultsText(faults));
    this.faults = faults;
  }
}
