/** Six agents edit three files through the hook, two of them are killed with a file in hand. Nothing acknowledged is lost. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { expect } from "vitest";
import { openScene } from "../cli/command.js";
import { Agent } from "./agent.js";

const FILES = ["one.md", "two.md", "three.md"];
const KILLED = 2;

interface Edit {
  readonly file: string;
  readonly line: string;
  readonly owner: string;
}

export async function sixAgents(edits: number): Promise<void> {
  const scene = await openScene();
  const agents: Agent[] = [];
  try {
    for (const file of FILES) writeFileSync(join(scene.root, file), "");
    for (let at = 0; at < 6; at++) agents.push(new Agent(scene, `a${at}`));
    const done = (await Promise.all(agents.map((agent, at) => work(agent, at, at < KILLED ? 1 : edits)))).flat();

    const lines = FILES.flatMap((file) => linesIn(join(scene.root, file)).map((line) => `${file} ${line}`));
    expect(lines.sort()).toEqual(done.map(({ file, line }) => `${file} ${line}`).sort());
    const { entries } = await scene.data(["audit", "list", "--prefix", "path", "--limit", "50000"]);
    for (const { file, owner } of done) expect(taken(entries, file, owner)).toBe(true);
    expect((await scene.data(["audit", "verify"])).ok).toBe(true);
    const { grants } = await scene.data(["lock", "list"]);
    const killed = agents.slice(0, KILLED).map(({ session }) => `agent:claude-${session}`);
    for (const { owner } of grants) expect(killed).toContain(owner);
  } finally {
    await Promise.all(agents.map((agent) => agent.kill()));
    await scene.close();
  }
}

/** The first ones are killed after their edit, with the lock in hand; the others give it back after each. */
async function work(agent: Agent, at: number, edits: number): Promise<Edit[]> {
  const done: Edit[] = [];
  await agent.start();
  for (let edit = 0; edit < edits; edit++) {
    const file = FILES[(at + edit) % FILES.length] as string;
    while ((await agent.write(file)).exit !== 0) await pause(20);
    const line = `${agent.session} ${edit}`;
    await agent.edit(file, line);
    done.push({ file, line, owner: `agent:claude-${agent.session}` });
    if (at < KILLED) await agent.kill();
    else await agent.endTurn();
  }
  if (at >= KILLED) await agent.end();
  return done;
}

function linesIn(path: string): string[] {
  return readFileSync(path, "utf8").split("\n").filter(Boolean);
}

type Entry = { readonly event: string; readonly resource: string; readonly owner: string };

function taken(entries: readonly Entry[], file: string, owner: string): boolean {
  return entries.some(
    (entry) =>
      ["granted", "stolen"].includes(entry.event) && entry.resource === `path/${file}` && entry.owner === owner,
  );
}
