/** Reads fields of JSON that another program wrote, without trusting their types. */
import { HoldfastError } from "../../base/errors.js";

export type Fields = Readonly<Record<string, unknown>>;

export function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function asFields(value: unknown, name: string): Fields {
  if (!isFields(value)) throw notUnderstood(`${name} is to be an object`);
  return value;
}

/** The first of these that is a text, and not an empty one. */
export function textAt(fields: Fields, ...names: readonly string[]): string | null {
  for (const name of names) {
    const value = fields[name];
    if (typeof value === "string" && value !== "") return value;
  }
  return null;
}

export function notUnderstood(problem: string): HoldfastError {
  return new HoldfastError("E_INVALID_ARGUMENT", `the hook's input was not understood: ${problem}`, {
    details: { field: "stdin" },
    next: ["Update holdfast or the client, then try it with `holdfast doctor hooks`."],
  });
}
