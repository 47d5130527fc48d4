/** Runs a few pieces of work at a time. The first failure is kept, and thrown to the next caller and at the end. */
export class Pool {
  readonly #width: number;
  #atWork = 0;
  #failure: { readonly error: unknown } | null = null;
  #onDone: (() => void)[] = [];

  constructor(width: number) {
    this.#width = width;
  }

  get hasRoom(): boolean {
    return this.#atWork < this.#width;
  }

  /** Begins the work, at once if there is room for it. */
  async add(work: () => Promise<void>): Promise<void> {
    while (!this.hasRoom) await this.#oneDone();
    this.assertFine();
    const piece = work();
    this.#atWork += 1;
    piece.then(
      () => this.#done(),
      (error: unknown) => {
        this.#failure ??= { error };
        this.#done();
      },
    );
  }

  assertFine(): void {
    if (this.#failure !== null) throw this.#failure.error;
  }

  /** Waits for all that was begun. */
  async idle(): Promise<void> {
    while (this.#atWork > 0) await this.#oneDone();
  }

  #oneDone(): Promise<void> {
    return new Promise((resolve) => {
      this.#onDone.push(resolve);
    });
  }

  #done(): void {
    this.#atWork -= 1;
    const waiting = this.#onDone;
    this.#onDone = [];
    for (const resolve of waiting) resolve();
  }
}
