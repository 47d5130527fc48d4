/** `holdfast manifest verify [TARGET]`. */
import { resolve } from "node:path";
import { verifyManifests } from "../../publish/manifests.js";
import { ERRORS, HoldfastError } from "../../support/errors.js";
import type { Context, Outcome } from "../context.js";
import { openProgress } from "../progress.js";
import { count } from "../text.js";

export async function run(context: Context): Promise<Outcome> {
  const { cwd, screen } = context;
  const [target] = context.args("TARGET");
  const holdfast = await context.openForReading();
  const progress = openProgress(screen);
  const verdict =
    holdfast === null
      ? { ok: true, targets: 0, files: 0, bad: [] }
      : await verifyManifests(holdfast, {
          onProgress: (files) => progress.show(`${count(files, "file")} read`),
          ...(target === undefined ? {} : { target: resolve(cwd, target) }),
        });
  progress.end();
  if (target !== undefined && verdict.targets === 0)
    throw new HoldfastError("E_NOT_FOUND", `nothing was published to ${resolve(cwd, target)}`, {
      next: ["holdfast manifest list"],
    });
  return {
    data: { verdict },
    text: () =>
      verdict.ok
        ? `${screen.paint("green", "as published")}: ${count(verdict.files, "file")} in ${count(verdict.targets, "target")}`
        : verdict.bad.map(({ target: at, path, why }) => `${screen.paint("red", why)}: ${at}/${path}`).join("\n"),
    exit: verdict.ok ? 0 : ERRORS.E_STORE_CORRUPT.exit,
  };
}
