/** Parses and checks the parameters of a request from the page. */
import { invalidArgument } from "../../base/errors.js";

export class Query {
  readonly #values: URLSearchParams;

  constructor(values: URLSearchParams) {
    this.#values = values;
  }

  /** Undefined when it is left out or empty. */
  text(name: string): string | undefined {
    return this.#values.get(name)?.trim() || undefined;
  }

  /** `E_INVALID_ARGUMENT` */
  required(name: string): string {
    const text = this.text(name);
    if (text === undefined) throw invalidArgument(name, "is missing");
    return text;
  }

  /** `E_INVALID_ARGUMENT` when it is no whole number in these limits. */
  integer(name: string, otherwise: number, least: number, most: number): number {
    const text = this.text(name);
    if (text === undefined) return otherwise;
    const value = Number(text);
    if (!Number.isInteger(value) || value < least || value > most)
      throw invalidArgument(name, `a whole number from ${least} to ${most}`);
    return value;
  }

  /** `E_INVALID_ARGUMENT` for another word than these. */
  oneOf<T extends string>(name: string, words: readonly T[]): T | undefined {
    const text = this.text(name);
    if (text === undefined || words.includes(text as T)) return text as T | undefined;
    throw invalidArgument(name, `one of ${words.join(", ")}`);
  }
}
