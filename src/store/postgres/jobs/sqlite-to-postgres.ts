/** A statement of the scheduler as PostgreSQL takes it: its tables are in our schema, and its values are numbered with $. */

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
