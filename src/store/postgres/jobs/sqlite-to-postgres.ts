/**
 * Translates a statement of the scheduler from SQLite to PostgreSQL: its tables are in the schema `holdfast`, and its
 * values are numbered with $.
 */

const TABLE = /\b(FROM|INTO|UPDATE|JOIN)\s+(jobs|job_[a-z]+)\b/g;
const texts = new Map<string, string>();

export function asPostgres(sql: string): string {
  let text = texts.get(sql);
  if (text === undefined) {
    text = sql.replace(/\?(\d+)/g, "$$$1").replace(TABLE, "$1 holdfast.$2");
    texts.set(sql, text);
  }
  return text;
}
