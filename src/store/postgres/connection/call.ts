/**
 * Calls a function of the schema with named arguments. Values travel as parameters, never in the text. The same few
 * calls are made again and again: their text is kept, with a name by which a server that is reached directly keeps it
 * too.
 */
export interface Call {
  readonly text: string;
  readonly values: readonly unknown[];
  readonly name?: string;
}

type Kept = Required<Pick<Call, "text" | "name">>;
type Arguments = Readonly<Record<string, unknown>>;

const known = new Map<string, Kept>();

export function call(name: string, args: Arguments): Call {
  const names = Object.keys(args);
  const statement = kept(`${name}(${names.join()})`, () => `select ${called(name, names, 1)}`);
  return { text: statement.text, name: statement.name, values: Object.values(args) };
}

/** For a call that is made all the time: its arguments by place. */
export function callOf(name: string, names: readonly string[]): (values: readonly unknown[]) => Call {
  const statement = kept(`${name}(${names.join()})`, () => `select ${called(name, names, 1)}`);
  return (values) => ({ text: statement.text, name: statement.name, values });
}

/** Two calls in one statement, the second after the first; their answers are `first` and `second`. */
export function callBoth(first: string, args: Arguments, second: string, more: Arguments): Call {
  const names = Object.keys(args);
  const others = Object.keys(more);
  // What stands in FROM comes first; what has an OFFSET is not taken apart.
  const statement = kept(
    `${first}(${names.join()}) ${second}(${others.join()})`,
    () =>
      `select x.first, ${called(second, others, names.length + 1)} as second from (select ${called(first, names, 1)} as first offset 0) x`,
  );
  return { text: statement.text, name: statement.name, values: [...Object.values(args), ...Object.values(more)] };
}

function called(name: string, names: readonly string[], from: number): string {
  return `holdfast.${name}(${names.map((each, at) => `${each} => $${from + at}`).join(", ")})`;
}

function kept(id: string, textOf: () => string): Kept {
  let statement = known.get(id);
  if (statement === undefined) {
    statement = { text: textOf(), name: `holdfast_${known.size}` };
    known.set(id, statement);
  }
  return statement;
}
