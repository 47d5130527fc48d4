/** Reads many rows without holding anything for long: limits on the size of one request, and pages by a column. */

import { checkOptions, type OptionNames } from "../../base/check-options.js";
import { invalidArgument } from "../../base/errors.js";
import type { Sql, SqlRow } from "../../client/kernel.js";

/** The most rows a statement may give without a page being asked for. */
const MOST_ROWS = 50_000;
const DEFAULT_PAGE = 1_000;
const COLUMN = /^[A-Za-z_][A-Za-z0-9_]*$/;

export interface PageOptions {
  readonly limit: number;
  readonly offset?: number;
}

export interface Paging {
  /** A column of the result whose values are unique: pages follow its order, and nothing is missed or repeated. */
  readonly by: string;
  /** Rows a page. Default 1,000. */
  readonly size?: number;
}

const PAGE: OptionNames<PageOptions> = { limit: true, offset: true };
const PAGING: OptionNames<Paging> = { by: true, size: true };

/** One statement, in whichever way the database answers. */
type Rows = SqlRow[] | Promise<SqlRow[]>;

export function readAll(sql: Sql, statement: string, values: readonly unknown[]): Rows {
  const limited = `SELECT * FROM (${bare(statement)}) AS rows_asked_for LIMIT ${MOST_ROWS + 1}`;
  return then(ask(sql, limited, values), (rows) => {
    if (rows.length > MOST_ROWS)
      throw invalidArgument("statement", `it gives more than ${MOST_ROWS} rows: ask for a page, or use pages()`);
    return rows;
  });
}

export function pageOf(sql: Sql, statement: string, values: readonly unknown[], page: PageOptions): Rows {
  checkOptions(page, PAGE, "page");
  const { limit, offset = 0 } = page;
  assertCount(limit, "limit", 1);
  assertCount(offset, "offset", 0);
  return ask(sql, `SELECT * FROM (${bare(statement)}) AS rows_asked_for LIMIT ${limit} OFFSET ${offset}`, values);
}

export async function* pagesOf(
  statement: string,
  values: readonly unknown[],
  paging: Paging,
  read: (body: (sql: Sql) => Rows) => Promise<SqlRow[]>,
): AsyncGenerator<SqlRow[]> {
  checkOptions(paging, PAGING, "paging");
  const { by, size = DEFAULT_PAGE } = paging;
  assertCount(size, "size", 1);
  if (typeof by !== "string" || !COLUMN.test(by)) throw invalidArgument("by", "the name of a column");
  const page = (after: string): string =>
    `SELECT * FROM (${bare(statement)}) AS rows_asked_for ${after} ORDER BY "${by}" LIMIT ${size}`;
  for (let last: unknown; ; ) {
    const isFirst = last === undefined;
    const rows = await read((sql) =>
      isFirst
        ? ask(sql, page(""), values)
        : ask(sql, page(`WHERE "${by}" > ${placeholder(sql, values.length + 1)}`), [...values, last]),
    );
    if (rows.length > 0) yield rows;
    if (rows.length < size) return;
    last = rows.at(-1)?.[by];
    if (last === undefined || last === null) throw invalidArgument("by", `the rows have no value in ${by}`);
  }
}

function bare(statement: string): string {
  if (typeof statement !== "string") throw invalidArgument("statement", "a statement of SQL");
  return statement.trim().replace(/;$/, "");
}

function assertCount(value: number, field: string, least: number): void {
  if (!Number.isSafeInteger(value) || value < least || value > MOST_ROWS)
    throw invalidArgument(field, `a whole number from ${least} to ${MOST_ROWS}`);
}

function ask(sql: Sql, statement: string, values: readonly unknown[]): Rows {
  if (!Array.isArray(values)) throw invalidArgument("values", "a list");
  return sql.answersAtOnce ? sql.rows(statement, values) : sql.query(statement, values);
}

function placeholder(sql: Sql, at: number): string {
  return sql.answersAtOnce ? `?${at}` : `$${at}`;
}

function then(rows: Rows, next: (rows: SqlRow[]) => SqlRow[]): Rows {
  return Array.isArray(rows) ? next(rows) : rows.then(next);
}
