/**
 * Sends BEGIN and the first statement of a transaction in one message: one round trip instead of two. When either
 * fails, nothing behind it is carried out.
 *
 * A named statement is kept by the server. The driver notes that with the first answer to a message, which here is that to
 * BEGIN. So after an error it is unknown whether the server has the statement, which is given up before it is sent anew.
 */
import pg from "pg";
import type { SqlRow } from "../../contract.js";
import type { Wire } from "./wire.js";

const BEGIN = "BEGIN ISOLATION LEVEL READ COMMITTED";

interface Sent {
  submit(wire: Wire): unknown;
  handleError(error: unknown, wire: Wire): void;
}

/** The rows of the statement. */
export function beginWith(client: pg.ClientBase, config: pg.QueryConfig): Promise<SqlRow[]> {
  const { name } = config;
  return new Promise((resolve, reject) => {
    const query = new pg.Query<SqlRow>(config, (error, results: unknown) =>
      error ? reject(error) : resolve([results as pg.QueryResult<SqlRow>].flat().at(-1)?.rows ?? []),
    );
    const sent = query as unknown as Sent;
    const { submit, handleError } = sent;
    sent.submit = (wire) => {
      wire.stream.cork();
      if (name !== undefined && wire.parsedStatements[name] === undefined) wire.close({ type: "S", name });
      wire.parse({ text: BEGIN, name: "", types: [] });
      wire.bind({ portal: "", statement: "", values: [] });
      wire.execute({ portal: "", rows: 0 });
      const refused = submit.call(query, wire);
      wire.stream.uncork();
      return refused;
    };
    sent.handleError = (error, wire) => {
      if (name !== undefined) delete wire.parsedStatements[name];
      handleError.call(query, error, wire);
    };
    client.query(query);
  });
}
