/**
 * A call of a function of ours with named arguments. Values travel as parameters, never in the text. The same few calls
 * are made again and again: their text is kept, with a name by which a server that is reached directly keeps it too.
 */
export interface Call {
  readonly text: string;
  readonly values: readonly unknown[];
  readonly name?: string;
}

const known = new Map<string, Pick<Call, "text" | "name">>();

export function call(name: string, args: Readonly<Record<string, unknown>>): Call {
  const names = Object.keys(args);
  const id = `${name}(${names.join()})`;
  let statement = known.get(id);
  if (statement === undefined) {
    const text = `select holdfast.${name}(${names.map((each, at) => `${each} => $${at + 1}`).join(", ")})`;
    statement = { text, name: `holdfast_${known.size}` };
    known.set(id, statement);
  }
  return { ...statement, values: Object.values(args) };
}
