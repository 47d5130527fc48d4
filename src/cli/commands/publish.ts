/** `holdfast publish TARGET --from DIR`. */
import { statSync } from "node:fs";
import { resolve } from "node:path";
import type { Holdfast } from "../../lease/holdfast.js";
import { pathKey } from "../../lock/path-key.js";
import { copyTree } from "../../publish/copy-tree.js";
import { publish } from "../../publish/protocol.js";
import type { Publisher } from "../../publish/publisher.js";
import { invalidArgument } from "../../support/errors.js";
import type { Context, Outcome } from "../context.js";
import { openProgress } from "../progress.js";
import { count, size } from "../text.js";

export async function run(context: Context): Promise<Outcome> {
  const { flags, cwd, screen } = context;
  const target = resolve(cwd, context.arg("TARGET"));
  const from = resolve(cwd, flags.text("from") ?? "");
  if (!statSync(from, { throwIfNoEntry: false })?.isDirectory()) throw invalidArgument("from", `${from} is no folder`);
  const key = flags.text("lock") ?? keyOf(context, target);
  const holdfast = await context.openHoldfast();
  const publisher = await publisherOf(context, holdfast, key);
  const { root } = context.workspace();
  const wait = flags.text("wait");
  const ttl = flags.text("ttl");
  const progress = openProgress(screen);
  try {
    const { manifest, replaced } = await publish(
      publisher,
      target,
      (stage) => copyTree(from, stage.path, stage.signal),
      {
        onProgress: ({ phase, files, bytes }) => progress.show(`${phase}: ${count(files, "file")}, ${size(bytes)}`),
        signal: context.signal,
        ...(root === null ? {} : { workspace: root }),
        ...(wait === undefined ? {} : { wait: wait as `${number}s` }),
        ...(ttl === undefined ? {} : { ttl: ttl as `${number}s` }),
      },
    );
    return {
      data: { manifest, replaced },
      text: () =>
        `${screen.paint("green", "published")} ${target}\n${count(manifest.file_count, "file")}, ${size(manifest.bytes)}, under ${key}, fencing token ${manifest.fencing_token}`,
    };
  } finally {
    progress.end();
  }
}

function keyOf(context: Context, target: string): string {
  const { root } = context.workspace();
  if (root !== null) return pathKey(root, target);
  throw invalidArgument("lock", "without a workspace a key must be named", "Add --lock KEY.");
}

/** Whoever shows a token borrows; else the run around us, if it holds this very key; else the lock is taken. */
async function publisherOf({ flags, env }: Context, holdfast: Holdfast, key: string): Promise<Publisher> {
  const token = flags.text("token");
  if (token !== undefined) return holdfast.borrow(key, token);
  const around = (env.HOLDFAST_RESOURCE ?? "").split(" ");
  if (env.HOLDFAST_LEASE_TOKEN && around.includes(key)) return holdfast.borrow(key, env.HOLDFAST_LEASE_TOKEN);
  return { holdfast, key };
}
