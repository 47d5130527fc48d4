/** A statement, prepared once. This module and `database.ts` are the only ones that call the driver. */
import { codedError } from "./error-codes.js";

type Value = string | number | null;
export type Row = readonly Value[];

export interface DriverStatement {
  all(...values: unknown[]): unknown[];
  get(...values: Value[]): unknown;
  setReturnArrays(on: boolean): void;
}

export class Statement {
  readonly #statement: DriverStatement;
  readonly #path: string;

  constructor(statement: DriverStatement, path: string) {
    statement.setReturnArrays(true);
    this.#statement = statement;
    this.#path = path;
  }

  /** The first row. Also for statements without any: the driver's own `run` builds a result that nobody reads. */
  get(...values: Value[]): Row | undefined {
    try {
      return this.#statement.get(...values) as Row | undefined;
    } catch (error) {
      throw codedError(error, this.#path);
    }
  }

  all(...values: Value[]): Row[] {
    try {
      return this.#statement.all(...values) as Row[];
    } catch (error) {
      throw codedError(error, this.#path);
    }
  }
}
