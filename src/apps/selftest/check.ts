/** Defines a check of the self-test: one system facility that locks depend on, tried on the folder itself. */

export interface Bench {
  /** A folder made for this test in the folder that is tested. */
  readonly dir: string;
  /** A store in it; the checks with processes share it. */
  readonly store: string;
  /** The second process, from the check that starts it to the one that kills it. */
  second: SecondProcess | null;
}

export interface SecondProcess {
  /** Its proof of life. */
  readonly nonce: string;
  readonly identity: string;
  /** Resolves when it is dead. */
  kill(): Promise<void>;
}

export interface Check {
  readonly name: string;
  /** What it shows when it works, in a few words. */
  readonly proves: string;
  /** In plain words, what to do when it fails. */
  readonly next: readonly string[];
  /** Holdfast works without it, only less well. */
  readonly isOptional?: true;
  /** Throws when it does not work. */
  try(bench: Bench): void | Promise<void>;
}

/** Says what was found instead of what should be. */
export function expectThat(isSo: boolean, otherwise: string): void {
  if (!isSo) throw new Error(otherwise);
}
