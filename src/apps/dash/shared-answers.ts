/**
 * Shares one answer between tabs: several requests for the same data in a short time get the same answer, however many
 * tabs are open.
 */

/** Shorter than a page waits between two questions, so that nobody sees the same twice for that. */
const GOOD_FOR_MS = 400;

export class SharedLooks {
  readonly #shared = new Map<string, Promise<string>>();

  /** Answers that are kept, or under way. */
  get size(): number {
    return this.#shared.size;
  }

  get(what: string, look: () => Promise<string>): Promise<string> {
    const found = this.#shared.get(what);
    if (found !== undefined) return found;
    const answer = look();
    this.#shared.set(what, answer);
    const drop = (): void => {
      if (this.#shared.get(what) === answer) this.#shared.delete(what);
    };
    answer.then(() => setTimeout(drop, GOOD_FOR_MS).unref(), drop);
    return answer;
  }

  /** Something was done: what is asked for now is looked up anew. */
  forget(): void {
    this.#shared.clear();
  }
}
