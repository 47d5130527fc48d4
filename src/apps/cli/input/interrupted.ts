/** Somebody pressed Ctrl-C, or asked this process to end. */
export class Interrupted extends Error {
  readonly exit: number;

  constructor(signal: string, exit: number) {
    super(`stopped by ${signal}`);
    this.exit = exit;
  }
}
