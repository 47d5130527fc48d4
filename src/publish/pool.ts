/** A few pieces of work at a time. The first failure is kept, and thrown to whoever comes next and at the end. */
export class Pool {
  readonly #width: number;
  readonly #atWork = new Set<Promise<void>>();
  #failure: { readonly error: unknown } | null = null;

  constructor(width: number) {
    this.#width = width;
  }

  /** Begins the work, once there is room for it. */
  async add(work: () => Promise<void>): Promise<void> {
    while (this.#atWork.size >= this.#width) await Promise.race(this.#atWork);
    this.assertFine();
    const piece: Promise<void> = work()
      .catch((error: unknown) => {
        this.#failure ??= { error };
      })
      .then(() => {
        this.#atWork.delete(piece);
      });
    this.#atWork.add(piece);
  }

  assertFine(): void {
    if (this.#failure !== null) throw this.#failure.error;
  }

  /** Waits for all that was begun. */
  async idle(): Promise<void> {
    while (this.#atWork.size > 0) await Promise.all(this.#atWork);
  }
}
