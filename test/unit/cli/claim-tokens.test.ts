/** CLI-3: the token of a claim goes only when it is known to open nothing. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { keepingToken, type OpenBoard } from "../../../src/apps/cli/board/board.js";
import { openTokenFiles } from "../../../src/client/workspace/token-files.js";
import { tokenFolder } from "../../../src/client/workspace/token-folder.js";
import { openBoard } from "../../../src/features/board/board.js";
import { HoldfastError, openHoldfast } from "../../../src/index.js";

let dir: string;
let opened: OpenBoard;
beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), "holdfast-claim-"));
  const holdfast = await openHoldfast({ store: `sqlite:${join(dir, "s.db")}`, owner: "agent:a", heart: "loop" });
  const files = openTokenFiles(tokenFolder(null, { XDG_STATE_HOME: join(dir, "state") }, holdfast.storeUrl), "agent:a");
  opened = { holdfast, board: openBoard(holdfast, join(dir, "board")), files };
});
afterEach(async () => {
  await opened.board[Symbol.asyncDispose]();
  await opened.holdfast.close();
  rmSync(dir, { recursive: true, force: true });
});

const away = new HoldfastError("E_STORE_UNAVAILABLE", "the server is away", { reason: "unreachable" });
const tokens = () => opened.files.find("issue:1").map((kept) => kept.lease_token);

/** As of a server that has made the claim, and then could not be told that it is not wanted. */
async function claimAndFail(keep: (token: string, id: string) => void): Promise<{ token?: string }> {
  await opened.holdfast.acquire("issue:1", { detached: true, keepToken: (token) => keep(token, "1") });
  throw away;
}

describe("CLI-3: a claim that fails", () => {
  it("keeps its token when it was made all the same, so that its owner can give it back", async () => {
    await expect(keepingToken(opened, claimAndFail)).rejects.toBe(away);
    const [token = ""] = tokens();
    await (await opened.holdfast.reattach("issue:1", token)).release();
  });

  // kills: token-of-a-failed-claim
  it("keeps its token when nobody can say whether it was made", async () => {
    const failing = keepingToken(opened, async (keep) => {
      keep("hf_unknown", "1");
      await opened.holdfast.close();
      throw away;
    });
    await expect(failing).rejects.toBe(away);
    expect(tokens()).toEqual(["hf_unknown"]);
  });

  it("leaves no token when it was not made", async () => {
    const failing = keepingToken(opened, async (keep) => {
      keep("hf_nothing", "1");
      throw away;
    });
    await expect(failing).rejects.toBe(away);
    expect(tokens()).toEqual([]);
  });
});
