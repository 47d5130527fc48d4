/**
 * Checks the options of a public call. A misspelled option that the call ignores would let it act with a default, as
 * `{ onwer: "agent:z" }` would act as a person; so a name that the call does not know is refused.
 */
import { invalidArgument } from "./errors.js";
import { nearest } from "./nearest.js";

/** Names all options of a call: one that is missing here does not compile. False for options that are internal. */
export type OptionNames<T> = Readonly<Record<keyof T, boolean>>;

/** `E_INVALID_ARGUMENT` naming the argument that is no object, or the first option that the call does not know. */
export function checkOptions<T extends object>(options: T, names: OptionNames<NoInfer<T>>, argument = "options"): void {
  // mutant: options-text: if (typeof options !== "object" || options === null || Array.isArray(options)) → if (options === null)
  if (typeof options !== "object" || options === null || Array.isArray(options))
    throw invalidArgument(argument, `an object such as { ${Object.keys(names)[0]}: … }`);
  // mutant: options-unknown: throw unknown(name, names); → void unknown;
  for (const name in options) if (!Object.hasOwn(names, name)) throw unknown(name, names);
}

function unknown(name: string, names: Readonly<Record<string, boolean>>): Error {
  const known = Object.keys(names).filter((each) => names[each]);
  const near = nearest(name, known);
  return invalidArgument(
    name,
    `there is no such option${near === null ? "" : `; did you mean ${near}?`}`,
    `The options are ${known.join(", ")}.`,
  );
}
