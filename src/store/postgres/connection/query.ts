/**
 * Runs frequent statements that return one value. It sends them over the wire as the driver's own queries do, except
 * that it does not request a description of the answer: the value arrives as the text that the server writes.
 */
import type pg from "pg";
import type { Call } from "./call.js";
import type { Wire } from "./wire.js";

type Done = (error: Error | null, answer?: string | null) => void;

export class Question implements pg.Submittable {
  readonly text: string;
  readonly name: string;
  /** Set by whoever sends it. */
  callback: Done | undefined;
  readonly #values: readonly unknown[];
  #answer: string | null = null;

  constructor({ text, values }: Call, name: string | undefined) {
    this.text = text;
    this.name = name ?? "";
    this.#values = values;
  }

  submit(connection: unknown): null {
    const wire = connection as Wire;
    wire.stream.cork();
    try {
      const isKnown = this.name !== "" && wire.parsedStatements[this.name] !== undefined;
      if (!isKnown) wire.parse({ name: this.name, text: this.text });
      wire.bind({ statement: this.name, values: this.#values.map(asText) });
      wire.execute({ portal: "" });
      wire.sync();
    } finally {
      wire.stream.uncork();
    }
    return null;
  }

  handleDataRow({ fields: [answer = null] }: { readonly fields: readonly (string | null)[] }): void {
    this.#answer = answer;
  }

  handleCommandComplete(): void {}

  handleReadyForQuery(): void {
    this.callback?.(null, this.#answer);
  }

  handleError(error: Error): void {
    this.callback?.(error);
  }
}

function asText(value: unknown): string | null {
  if (value === null || value === undefined) return null;
  return Array.isArray(value) ? `{${value.map(asElement).join()}}` : String(value);
}

function asElement(value: unknown): string {
  return value === null ? "NULL" : `"${String(value).replace(/["\\]/g, "\\$&")}"`;
}
