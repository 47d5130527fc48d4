/** Formats the changes that a run with a staged folder made. */
import type { ChangesOutcome } from "../../../features/publish/publish-changes.js";

const MOST_SHOWN = 20;

export function stageData(staged: ChangesOutcome | null): Record<string, unknown> {
  return { published: staged?.manifest != null, manifest: staged?.manifest ?? null, changes: staged?.changes ?? null };
}

export function stageNotes(staged: ChangesOutcome | null, dir: string): string[] {
  const changes = staged?.changes ?? null;
  if (changes === null) return [`holdfast: ${dir} is as it was: what the command made was thrown away`];
  if (staged?.manifest == null) return [`holdfast: ${dir} is as it was: the command changed nothing`];
  const { added, changed, removed, paths } = changes;
  const more = added + changed + removed - Math.min(paths.length, MOST_SHOWN);
  return [
    `holdfast: published ${dir}: ${added} added, ${changed} changed, ${removed} removed`,
    ...paths.slice(0, MOST_SHOWN).map((path) => `  ${path}`),
    ...(more > 0 ? [`  … and ${more} more`] : []),
  ];
}
