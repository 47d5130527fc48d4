/** Runs one call of a tool, from the arguments as they arrive to the result. Every failure becomes a result with a code. */
import type { CallToolResult, ServerContext } from "@modelcontextprotocol/server";
import { HoldfastError } from "../../base/errors.js";
import { given } from "../../base/given.js";
import { isContention, type Refusal, refusalOf, refusalText } from "./refusal.js";
import type { Loss } from "./run/run-leases.js";
import type { Runs } from "./run/runs.js";
import type { Answer, Tool } from "./tool.js";

/** Throws only what a cancelled call is to throw: nobody waits for its result. */
export async function callTool(
  runs: Runs,
  tool: Tool,
  given: unknown,
  client: string,
  { signal, notify, _meta }: ServerContext["mcpReq"],
): Promise<CallToolResult> {
  const token = _meta?.progressToken;
  const progress = async (elapsed: number, total: number, message: string): Promise<void> => {
    if (token === undefined) return;
    const params = { progressToken: token, progress: elapsed, total, message };
    await notify({ method: "notifications/progress", params });
  };
  try {
    const args = parse(tool, given);
    return await runs.during(runIn(args), tool.purpose, client, async (run, name) => {
      try {
        const answer = await run.during(signal, (both) => tool.call(args, { run, signal: both, progress }));
        return granted(answer, name, run.holdings.takeLosses(), await run.newOverlaps());
      } catch (error) {
        signal.throwIfAborted();
        return refused(refusalOf(error, canWait(tool)), run.holdings.takeLosses());
      }
    });
  } catch (error) {
    signal.throwIfAborted();
    return refused(refusalOf(error, canWait(tool)), []);
  }
}

function parse(tool: Tool, given: unknown): Record<string, unknown> {
  const parsed = tool.input.safeParse(given ?? {});
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const field = issue?.path.join(".") || "arguments";
  throw new HoldfastError("E_INVALID_ARGUMENT", `${field}: ${issue?.message ?? "not as the schema says"}`, {
    details: { field },
    next: [`${tool.name} takes ${fieldsOf(tool).join(", ")}: correct it and call it again.`],
  });
}

function fieldsOf({ input }: Tool): readonly string[] {
  return Object.keys(input.shape);
}

function canWait(tool: Tool): boolean {
  return fieldsOf(tool).includes("wait_s");
}

function runIn({ run }: Record<string, unknown>): string | undefined {
  return typeof run === "string" ? run : undefined;
}

function granted(
  { data, text }: Answer,
  run: string | undefined,
  lost: readonly Loss[],
  overlaps: readonly string[],
): CallToolResult {
  const words = run === undefined ? [] : [`Your run is ${run}: give it as \`run\` in your later calls.`];
  return {
    content: [{ type: "text", text: [...lossLines(lost), text, ...overlaps, ...words].join("\n") }],
    structuredContent: { ok: true, ...data, ...given({ run }), ...lossesIn(lost) },
  };
}

/** That somebody else holds it is an answer; everything else that is refused is an error of the call. */
function refused(refusal: Refusal, lost: readonly Loss[]): CallToolResult {
  return {
    content: [{ type: "text", text: [...lossLines(lost), refusalText(refusal)].join("\n") }],
    structuredContent: { ok: false, error: refusal, ...lossesIn(lost) },
    ...(isContention(refusal) ? {} : { isError: true }),
  };
}

function lossesIn(lost: readonly Loss[]): { readonly lost?: readonly Loss[] } {
  return lost.length === 0 ? {} : { lost };
}

function lossLines(lost: readonly Loss[]): readonly string[] {
  return lost.map(
    ({ key, code }) => `LOST ${key} (${code}): stop writing it. Take it again, then read again what you were changing.`,
  );
}
