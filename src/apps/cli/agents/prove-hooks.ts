/** `holdfast doctor hooks`: tries whether the installed hooks refuse, and reports each result. */
import { type Proof, proveHooks } from "../../../agents/hooks/prove.js";
import { ERRORS, HoldfastError } from "../../../base/errors.js";
import type { BaseContext, Outcome } from "../command.js";
import type { Screen } from "../output/screen.js";

export async function proveHooksHere(context: BaseContext): Promise<Outcome> {
  const workspace = context.workspace();
  const { root } = workspace;
  const proofs = root === null ? [] : await proveHooks(workspace, root, context.env);
  if (proofs.length === 0)
    throw new HoldfastError("E_CONFIG", "no hook of ours is installed here, so nothing keeps agents apart", {
      reason: "not_installed",
      next: ["holdfast hook install claude", "holdfast init --agents"],
    });
  const isGood = proofs.every(({ ok }) => ok);
  return {
    data: { root, ok: isGood, proofs },
    text: (screen) => proofs.map((each) => proofText(each, screen)).join("\n"),
    notes: isGood
      ? ["the hooks refuse as they should; that the client listens, only the client can show (docs/agents.md)"]
      : nextSteps(proofs),
    exit: isGood ? 0 : ERRORS.E_CONFIG.exit,
  };
}

function nextSteps(proofs: readonly Proof[]): readonly string[] {
  const failed = proofs.filter(({ ok }) => !ok);
  const steps = failed.map(
    ({ next = "install the hook again, and run its command by hand: see docs/agents.md" }) => next,
  );
  return [...new Set(steps)].map((step) => `→ ${step}`);
}

function proofText({ client, check, ok, message }: Proof, screen: Screen): string {
  const mark = ok ? screen.paint("green", "holds") : screen.paint("red", "FAILS");
  return `${mark}  ${client.padEnd(6)}  ${check}${ok ? "" : `: ${message}`}`;
}
