/** Returns whether a value is a JSON object: not a list, and not null. */
export function isObject<T>(value: T): value is T & object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
