/** A call of a function of ours with named arguments. Values travel as parameters, never in the text. */

/** The same few calls again and again: their text is kept. */
const texts = new Map<string, string>();

export function call(name: string, args: Readonly<Record<string, unknown>>) {
  const names = Object.keys(args);
  const id = `${name}(${names.join()})`;
  let text = texts.get(id);
  if (text === undefined) {
    text = `select holdfast.${name}(${names.map((each, at) => `${each} => $${at + 1}`).join(", ")})`;
    texts.set(id, text);
  }
  return { text, values: Object.values(args) };
}
