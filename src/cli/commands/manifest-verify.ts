/** `holdfast manifest verify [TARGET]`. */
import { resolve } from "node:path";
import { verifyManifests } from "../../publish/manifests.js";
import { ERRORS } from "../../support/errors.js";
import type { Context, Outcome } from "../context.js";
import { openProgress } from "../progress.js";

export async function run(context: Context): Promise<Outcome> {
  const { cwd, screen } = context;
  const [target] = context.args("TARGET");
  const holdfast = await context.openForReading();
  const progress = openProgress(screen);
  const verdict =
    holdfast === null
      ? { ok: true, targets: 0, files: 0, bad: [] }
      : await verifyManifests(holdfast, {
          onProgress: (files) => progress.show(`${files} files read`),
          ...(target === undefined ? {} : { target: resolve(cwd, target) }),
        });
  progress.end();
  return {
    data: { verdict },
    text: () =>
      verdict.ok
        ? `${screen.paint("green", "as published")}: ${verdict.files} files in ${verdict.targets} targets`
        : verdict.bad.map(({ target: at, path, why }) => `${screen.paint("red", why)}: ${at}/${path}`).join("\n"),
    exit: verdict.ok ? 0 : ERRORS.E_STORE_CORRUPT.exit,
  };
}
