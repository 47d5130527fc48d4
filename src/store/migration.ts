/** Setting a store up by numbered steps. */

export interface MigrationStep {
  readonly name: string;
  readonly sql: string;
}

export interface MigrationOptions {
  /** Tells what would be done, and does nothing. */
  readonly dryRun?: boolean;
  /** Drops everything of ours instead. `E_LOCK_CONFLICT` while anything is held. */
  readonly uninstall?: boolean;
}
