/** Defines a tool: its entry in the list that agent tools see, and the function that it runs for a run. */
import * as z from "zod";
import type { Run } from "./run/run.js";
import type { Purpose } from "./run/runs.js";

/** A call under way. */
export interface Call {
  readonly run: Run;
  /** Aborts when the client cancels, when it goes, and when the server closes. */
  readonly signal: AbortSignal;
  /** Tells a client that wants to know how a wait goes on. */
  progress(elapsedS: number, totalS: number, message: string): Promise<void>;
}

/** What an agent gets: data, and words that say the same to whoever sees no data. */
export interface Answer {
  readonly data: Readonly<Record<string, unknown>>;
  readonly text: string;
}

export interface Tool<Input extends z.ZodObject = z.ZodObject> {
  readonly name: string;
  readonly description: string;
  readonly purpose: Purpose;
  /** Changes something though it holds nothing. */
  readonly changes?: boolean;
  /** Calling it again changes nothing more. */
  readonly isIdempotent?: boolean;
  readonly input: Input;
  /** The fields of the data, as JSON Schema. */
  readonly output: Readonly<Record<string, unknown>>;
  call(args: z.infer<Input>, call: Call): Promise<Answer>;
}

/** Keeps the type of the arguments while the tool is written down. Every tool takes `run`, so that any call renews. */
export function defineTool<Input extends z.ZodObject>(tool: Tool<Input>): Tool {
  return { ...tool, input: z.strictObject({ run, ...tool.input.shape }) } as unknown as Tool;
}

/** The longest wait of a call: some clients give up soon after. */
const MAX_WAIT_S = 50;
/** Longer than the longest wait, so that nothing runs out while its holder waits for more. */
const MIN_TTL_S = 60;
const MAX_TTL_S = 3_600;
export const DEFAULT_TTL_S = 900;
const MAX_KEYS = 64;

/** Arguments that several tools take. */
export const run = z.string().max(60).optional();
export const waitS = z.int().min(0).max(MAX_WAIT_S).optional();
export const ttlS = z.int().min(MIN_TTL_S).max(MAX_TTL_S).optional();
export const keys = z.array(z.string()).max(MAX_KEYS).optional();
export const limit = z.int().min(1).max(200).optional();

/** Fields of answers. */
export const TEXT = { type: "string" };
export const NUMBER = { type: "number" };
export const FLAG = { type: "boolean" };
export const OBJECT = { type: "object" };
export const LIST = { type: "array", items: TEXT };
export const NEXT = { type: ["string", "null"] };

export function listOf(properties: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return { type: "array", items: { type: "object", properties } };
}
