/** The board's files beside claims that are leases in PostgreSQL. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type Board, openBoard } from "../../../src/features/board/board.js";
import { type Holdfast, openHoldfast } from "../../../src/index.js";
import { claimShortly, expectSoundBoard } from "../../fixtures/board/board.fixture.js";
import { sharedServer, type TestServer } from "../../fixtures/postgres/server.fixture.js";
import { dropPostgresStore, newPostgresStore } from "../../fixtures/postgres/stores.fixture.js";

describe("the board with claims in PostgreSQL", () => {
  let server: TestServer;
  let store: string;
  let root: string;
  let opened: { readonly holdfast: Holdfast; readonly board: Board }[];

  const open = async (owner: string): Promise<Board> => {
    const holdfast = await openHoldfast({ store, owner, heart: "loop" });
    const board = openBoard(holdfast, join(root, "board"));
    opened.push({ holdfast, board });
    return board;
  };

  beforeAll(async () => {
    server = await sharedServer();
  }, 300_000);
  beforeEach(async () => {
    store = await newPostgresStore(server);
    root = mkdtempSync(join(tmpdir(), "holdfast-board-pg-"));
    opened = [];
  });
  afterEach(async () => {
    for (const { holdfast, board } of opened) {
      await board[Symbol.asyncDispose]();
      await holdfast.close();
    }
    rmSync(root, { recursive: true, force: true });
    await dropPostgresStore(server, store);
  });

  it("BOARD-5 a claim is a lease: others are refused, its token is needed, and giving it back frees it", async () => {
    const [one, two] = [await open("agent:one"), await open("agent:two")];
    const { id } = await one.add({ title: "wanted" });
    const { token, issue } = await one.claim(id);
    expect(issue).toMatchObject({ state: "in_progress", assignee: "agent:one" });
    expect(await opened[0]?.holdfast.inspect(`issue:${id}`)).toMatchObject({ state: "held" });
    await expect(two.claim(id)).rejects.toMatchObject({ code: "E_LOCK_CONFLICT" });
    await expect(two.update(id, { title: "x" })).rejects.toMatchObject({ code: "E_LOCK_CONFLICT" });
    await one.update(id, { addLabels: ["begun"] }, { token });
    await one.release(id, { token });
    await expect(one.update(id, { title: "x" }, { token })).rejects.toMatchObject({ code: "E_LOCK_NOT_HELD" });
    await two.update(id, { addLabels: ["seen"] });
    const done = await two.claim(id);
    await two.close(id, { token: done.token });
    expect(await one.get(id)).toMatchObject({ state: "done", labels: ["begun", "seen"] });
    await expectSoundBoard(one);
  });

  it("BOARD-5 a lapsed claim's write is refused, and the next one has the issue", async () => {
    const [one, two] = [await open("agent:one"), await open("agent:two")];
    const { id } = await one.add({ title: "wanted" });
    const { token } = await claimShortly(one, id);
    const state = async (): Promise<string | undefined> => (await opened[0]?.holdfast.inspect(`issue:${id}`))?.state;
    await expect.poll(state, { timeout: 240_000 }).not.toBe("held");
    await expect(one.update(id, { title: "late" }, { token })).rejects.toMatchObject({
      code: expect.stringMatching(/^E_LOCK_(EXPIRED|NOT_HELD)$/),
    });
    expect((await two.claim(id)).issue).toMatchObject({ title: "wanted", assignee: "agent:two" });
    await expect(one.update(id, { title: "late" }, { token })).rejects.toMatchObject({ code: "E_LOCK_NOT_HELD" });
  }, 300_000);

  it("BOARD-5 several who ask for the next issue at once get different ones", async () => {
    const boards = await Promise.all([1, 2, 3, 4, 5].map((n) => open(`agent:${n}`)));
    const ids: string[] = [];
    for (const each of boards) ids.push((await each.add({ title: "one of five" })).id);
    const claims = await Promise.all(boards.map((each) => each.claimNext()));
    expect(claims.map((claim) => claim?.issue.id).sort()).toEqual(ids);
    expect(await boards[0]?.claimNext()).toBeNull();
  });

  it("BOARD-5 somebody who only changes an issue is never taken for its claimer", async () => {
    const [one, two] = [await open("agent:one"), await open("agent:two")];
    const { id } = await one.add({ title: "wanted" });
    let isOver = false;
    const changing = (async () => {
      for (let round = 0; !isOver; round += 1)
        await one.update(id, { title: `round ${round}` }).catch((error) => {
          expect(error).toMatchObject({ code: "E_LOCK_CONFLICT" });
        });
    })();
    try {
      for (let round = 0; round < 8; round += 1) {
        const { token } = await two.claim(id);
        await two.release(id, { token });
      }
    } finally {
      isOver = true;
      await changing;
    }
    await expectSoundBoard(one);
  });
});
