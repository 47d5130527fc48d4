/**
 * Keeps the rows that the user has opened in their place when they are no longer in the answer, until they are closed.
 * Pure.
 */

export interface KeptRow<T> {
  readonly id: string;
  readonly row: T;
  /** No longer in the answer. */
  readonly isGone: boolean;
}

export function keepRows<T>(
  before: readonly KeptRow<T>[],
  rows: readonly T[],
  idOf: (row: T) => string,
  isOpen: (id: string) => boolean,
): readonly KeptRow<T>[] {
  const kept: KeptRow<T>[] = rows.map((row) => ({ id: idOf(row), row, isGone: false }));
  const there = new Set(kept.map(({ id }) => id));
  for (const [at, old] of before.entries()) {
    if (there.has(old.id) || !isOpen(old.id)) continue;
    const previous = before[at - 1]?.id;
    const place = previous === undefined ? 0 : kept.findIndex(({ id }) => id === previous) + 1;
    kept.splice(place, 0, { ...old, isGone: true });
    there.add(old.id);
  }
  return kept;
}
