// A board with the lock store that its claims need.
import { openBoard } from "../../dist/features/board/board.js";
import { openHoldfast } from "../../dist/index.js";

export async function openBoardIn(folder) {
  const holdfast = await openHoldfast({ root: folder, owner: "agent:bench" });
  return { board: openBoard(holdfast, `${folder}/.holdfast/board`), close: () => holdfast.close() };
}
