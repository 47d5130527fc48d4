/** The error of a command that Ctrl-C or a signal stopped, with its exit code. */
export class Interrupted extends Error {
  readonly exit: number;

  constructor(signal: string, exit: number) {
    super(`stopped by ${signal}`);
    this.exit = exit;
  }
}
