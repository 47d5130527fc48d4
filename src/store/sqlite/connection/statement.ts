/**
 * A statement, prepared once, at its first use: a command opens the database with all statements of the store and runs a
 * few of them. This module and `database.ts` are the only ones that call the driver.
 */
import { codedError, codedSchemaError } from "./error-codes.js";

type Value = string | number | null;
export type Row = readonly Value[];

export interface DriverStatement {
  all(...values: unknown[]): unknown[];
  get(...values: Value[]): unknown;
  setReturnArrays(on: boolean): void;
}

export interface Preparing {
  prepare(sql: string): DriverStatement;
}

export class Statement {
  readonly #driver: Preparing;
  readonly #sql: string;
  readonly #path: string;
  #prepared: DriverStatement | null = null;

  constructor(driver: Preparing, sql: string, path: string) {
    this.#driver = driver;
    this.#sql = sql;
    this.#path = path;
  }

  /** The first row. Also for statements without any: the driver's own `run` builds a result that nobody reads. */
  get(...values: Value[]): Row | undefined {
    try {
      return (this.#prepared ?? this.#prepare()).get(...values) as Row | undefined;
    } catch (error) {
      throw codedError(error, this.#path);
    }
  }

  all(...values: Value[]): Row[] {
    try {
      return (this.#prepared ?? this.#prepare()).all(...values) as Row[];
    } catch (error) {
      throw codedError(error, this.#path);
    }
  }

  #prepare(): DriverStatement {
    this.#prepared = prepareOwn(this.#driver, this.#sql, this.#path);
    this.#prepared.setReturnArrays(true);
    return this.#prepared;
  }
}

/** Prepares a statement of ours. `E_STORE_CORRUPT` when the database does not have the tables of a store. */
export function prepareOwn(driver: Preparing, sql: string, path: string): DriverStatement {
  try {
    return driver.prepare(sql);
  } catch (error) {
    // mutant: sqlite-schema: codedSchemaError(error, → codedError(error,
    throw codedSchemaError(error, path);
  }
}
