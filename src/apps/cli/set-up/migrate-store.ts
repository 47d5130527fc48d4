/** `holdfast migrate`: migrates the store to this version, or removes it. */

import { invalidArgument } from "../../../base/errors.js";
import { openInstallation } from "../../../client/open-holdfast.js";
import { removeRecord } from "../../../client/workspace/workspace-record.js";
import { createSystemClock } from "../../../platform/clock.js";
import { identifyStore } from "../../../store/open.js";
import type { ContextWith, Outcome } from "../command.js";

interface MigrateFlags {
  readonly "dry-run": boolean;
  readonly uninstall: boolean;
}

export async function migrateStore(context: ContextWith<MigrateFlags>): Promise<Outcome> {
  const { uninstall, "dry-run": dryRun } = context.flags;
  const { store: url, where: store, root, record } = context.workspace();
  const installation = await openInstallation(url);
  if (uninstall) {
    if (dryRun) throw invalidArgument("uninstall", "there is no dry run of it");
    const isRecorded = record !== null && (await identifyStore(url)) === record.store.id;
    const removed = await installation.uninstall(createSystemClock());
    // mutant: uninstall-record: if (removed && isRecorded && root !== null) → if (root === "")
    if (removed && isRecorded && root !== null) removeRecord(root);
    return { data: { store, removed }, text: () => (removed ? `${store} is gone` : `there was nothing in ${store}`) };
  }
  const migrations = await installation.pending();
  let warnings: readonly string[] = [];
  if (!dryRun) {
    warnings = await installation.install();
    await context.openHoldfast();
  }
  return {
    data: { store, applied: !dryRun, migrations },
    text: () => textOf(migrations, dryRun),
    notes: [
      ...(migrations.length === 0 ? [`${store} is up to date`] : []),
      ...warnings.map((each) => `warning: ${each}`),
    ],
  };
}

function textOf(
  migrations: readonly { version: number; about: string; statements: string }[],
  dryRun: boolean,
): string {
  return migrations
    .map(
      ({ version, about, statements }) =>
        `${dryRun ? "would be" : "is now"} version ${version}: ${about}${dryRun ? `\n${statements}` : ""}`,
    )
    .join("\n");
}
