/** Formats a new claim. Only `--json` shows its token. */
import type { Claimed } from "../../../features/board/board.js";
import type { Outcome } from "../command.js";
import { clockTime } from "../output/times.js";

export function claimOutcome({ issue, token, lease_expires_at }: Claimed): Outcome {
  return {
    data: { issue, claim: { ...issue.claim, lease_expires_at, lease_token: token } },
    text: (screen) =>
      `${screen.paint("green", "claimed")} issue ${issue.id}: ${issue.title}\n` +
      `  yours until ${clockTime(lease_expires_at)}; every command on it renews that`,
  };
}
