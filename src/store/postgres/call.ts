/**
 * A call of a function of ours with named arguments. Values travel as parameters, never in the text. The same few calls
 * are made again and again: their text is kept, with a name by which a server that is reached directly keeps it too.
 */
export interface Call {
  readonly text: string;
  readonly values: readonly unknown[];
  readonly name?: string;
}

const known = new Map<string, Required<Pick<Call, "text" | "name">>>();

export function call(name: string, args: Readonly<Record<string, unknown>>): Call {
  const names = Object.keys(args);
  const id = `${name}(${names.join()})`;
  const statement = known.get(id) ?? statementOf(name, names);
  known.set(id, statement);
  return { text: statement.text, name: statement.name, values: Object.values(args) };
}

/** For a call that is made all the time: its arguments by place. */
export function callOf(name: string, names: readonly string[]): (values: readonly unknown[]) => Call {
  const { text, name: kept } = statementOf(name, names);
  return (values) => ({ text, name: kept, values });
}

let statements = 0;

function statementOf(name: string, names: readonly string[]): Required<Pick<Call, "text" | "name">> {
  statements += 1;
  const text = `select holdfast.${name}(${names.map((each, at) => `${each} => $${at + 1}`).join(", ")})`;
  return { text, name: `holdfast_${statements}` };
}
