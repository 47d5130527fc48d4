/** Turns fields that may be undefined into optional fields; the other fields stay as they are. */
type Given<T> = { [K in keyof T as undefined extends T[K] ? never : K]: T[K] } & {
  [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined>;
};

/** Returns the fields that are not undefined: `{ wait: undefined, ttl: "5m" }` gives `{ ttl: "5m" }`. */
export function given<const T extends object>(fields: T): Given<T> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Given<T>;
}
