/**
 * Six agents work off one board and edit four files of one repository: three through hooks and commands, three through MCP.
 *
 * The two that will die begin. Each has edited one file and has the lock of a second one in hand, one with the file still to
 * be written, the other with it written and nobody told. Then the four others begin, each with an issue of its own that
 * needs those files: all are refused and stand in line. Then the two are killed, and the others do their own issues and
 * what the dead have left.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { openBoard } from "../../src/board/board.js";
import { openHoldfast } from "../../src/index.js";
import { openScene, type Scene } from "../cli/command.js";
import { factsOf } from "./facts.js";
import { problemsIn } from "./judge.js";
import { type Kind, ScriptedAgent } from "./scripted-agent.js";

const FILES = ["one.md", "two.md", "three.md", "four.md"] as const;
const [ONE, TWO, THREE, FOUR] = FILES;
/** With their issues: the second file of each is what the others are refused. */
const DYING: readonly (readonly [Kind, string])[] = [
  ["hook", `${ONE} ${TWO}`],
  ["mcp", `${THREE} ${FOUR}`],
];
const OTHERS = [`${TWO} ${FOUR}`, `${FOUR} ${TWO}`, `${ONE} ${THREE}`, `${TWO} ${ONE}`, `${FOUR} ${THREE}`];
const SURVIVORS: readonly Kind[] = ["hook", "hook", "mcp", "mcp"];

export interface Work {
  /** That all of them share, besides one of its own for each of those who live. At least two. */
  readonly shared: number;
  readonly ignoresRefusals?: Kind;
}

/** What is wrong afterwards. */
export async function sixAgents({ shared, ignoresRefusals }: Work): Promise<readonly string[]> {
  const scene = await openScene();
  const agents: ScriptedAgent[] = [];
  const start = (kind: Kind, at: number, script: object): ScriptedAgent => {
    const agent = new ScriptedAgent(scene, kind, at, { issues: shared + SURVIVORS.length, ...script });
    agents.push(agent);
    return agent;
  };
  try {
    for (const file of FILES) writeFileSync(join(scene.root, file), "");
    const issues = await fillBoard(scene, shared);
    const dying = [
      start("hook", 0, { stops: "before", claimTtl: "2s" }), // A claim by command has no process to end with.
      start("mcp", 0, { stops: "after" }),
    ];
    const living = SURVIVORS.map((kind, at) => start(kind, at + 1, { ignoresRefusals: kind === ignoresRefusals }));
    await Promise.all(agents.map((agent) => agent.hasSaid("ready")));
    for (const agent of dying) agent.begin();
    await Promise.all(dying.map((agent) => agent.hasSaid("halfway")));
    for (const agent of living) agent.begin();
    await Promise.all(living.map((agent) => agent.hasSaid("refused")));
    await Promise.all(dying.map((agent) => agent.kill()));
    await Promise.all(living.map((agent) => agent.isDone()));
    const logs = agents.map(({ log }) => log);
    const facts = await factsOf(scene, { issues, files: FILES, logs });
    const owners = (some: readonly ScriptedAgent[]): readonly string[] => some.map(({ owner }) => owner);
    return problemsIn({ ...facts, agents: owners(agents), killed: owners(dying) });
  } finally {
    await Promise.all(agents.map((agent) => agent.kill()));
    await scene.close();
  }
}

/** Returns the files that each issue names. */
async function fillBoard({ root }: Scene, shared: number): Promise<ReadonlyMap<string, readonly string[]>> {
  await using holdfast = await openHoldfast({ root, owner: "user:orchestrator" });
  await using board = openBoard(holdfast, join(root, ".holdfast", "board"));
  const issues = new Map<string, readonly string[]>();
  const add = async (title: string, ...labels: string[]): Promise<void> => {
    const { id } = await board.add({ title, labels });
    issues.set(id, title.split(" "));
  };
  for (const [kind, title] of DYING) await add(title, "shared", `${kind}-0`);
  for (const [at, kind] of SURVIVORS.entries()) await add(titleOf(at % 2), `${kind}-${at + 1}`);
  for (let at = DYING.length; at < shared; at++) await add(titleOf(at), "shared");
  return issues;
}

function titleOf(at: number): string {
  return OTHERS[at % OTHERS.length] as string;
}
