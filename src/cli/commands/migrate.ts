/** `holdfast migrate [--dry-run] [--uninstall]`. */
import { openInstallation } from "../../open-holdfast.js";
import { createSystemClock } from "../../support/clock.js";
import { invalidArgument } from "../../support/errors.js";
import type { Context, Outcome } from "../context.js";

export async function run(context: Context): Promise<Outcome> {
  const { flags } = context;
  const { store: url, where: store } = context.workspace();
  const installation = await openInstallation(url);
  if (flags.has("uninstall")) {
    if (flags.has("dry-run")) throw invalidArgument("uninstall", "there is no dry run of it");
    const removed = await installation.uninstall(createSystemClock());
    return { data: { store, removed }, text: () => (removed ? `${store} is gone` : `there was nothing in ${store}`) };
  }
  const migrations = await installation.pending();
  const dryRun = flags.has("dry-run");
  if (!dryRun) {
    await installation.install?.();
    await context.openHoldfast();
  }
  return {
    data: { store, applied: !dryRun, migrations },
    text: () => textOf(migrations, dryRun),
    notes: migrations.length === 0 ? [`${store} is up to date`] : [],
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
