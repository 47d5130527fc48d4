/** A workspace with agents in it: official clients, over a pipe in this process, over stdio, or over HTTP. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Client, InMemoryTransport, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { Runs } from "../../../src/agents/mcp/run/runs.js";
import { createServer } from "../../../src/agents/mcp/serve/server.js";
import { type Holdfast, openHoldfast } from "../../../src/index.js";
// Loaded with the file: left to the first call it would count against the time of the first test.
import "../../../src/store/sqlite/open.js";
import { markWorkspace } from "../../fixtures/mark-workspace.fixture.js";

/** A busy machine may take long for anything; these end only what hangs. */
export const PATIENTLY = { timeout: 240_000 };

const MAIN = fileURLToPath(new URL("../../../dist/cli/main.js", import.meta.url));

/** Which revision of the protocol a client speaks. */
export type Revision = "2025-11-25" | "2026-07-28";

// biome-ignore lint/suspicious/noExplicitAny: the shape is what the tests look at
export type Json = any;

export interface Result {
  readonly data: Json;
  readonly text: string;
  readonly isError: boolean;
}

export class Agent {
  readonly client: Client;

  constructor(client: Client) {
    this.client = client;
  }

  async call(name: string, args: Record<string, unknown> = {}, options: Json = {}): Promise<Result> {
    const result = await this.client.callTool({ name, arguments: args }, { ...PATIENTLY, ...options });
    const [content] = result.content;
    return {
      data: result.structuredContent,
      text: content?.type === "text" ? content.text : "",
      isError: result.isError ?? false,
    };
  }

  /** The data of a call that must succeed. */
  async data(name: string, args: Record<string, unknown> = {}): Promise<Json> {
    const { data, text } = await this.call(name, args);
    if (data?.ok !== true) throw new Error(text);
    return data;
  }

  /** The code of a call that must be refused. */
  async refusal(name: string, args: Record<string, unknown> = {}): Promise<string> {
    const { data } = await this.call(name, args);
    if (data?.ok !== false) throw new Error(`not refused: ${JSON.stringify(data)}`);
    return data.error.code;
  }
}

/** With its server in a process of its own. */
export type StartedAgent = Agent & { readonly pid: number };

export class Scene {
  readonly root = mkdtempSync(join(tmpdir(), "holdfast-mcp-"));
  readonly #closing: (() => Promise<unknown>)[] = [];

  constructor(config: Record<string, unknown> = {}) {
    markWorkspace(this.root);
    writeFileSync(join(this.root, "holdfast.config.json"), JSON.stringify(config));
  }

  runs(isOneAgents: boolean, owner?: string): Runs {
    const said = { root: this.root, ...(owner === undefined ? {} : { owner }) };
    const runs = new Runs({ said, cwd: this.root, env: {}, isOneAgents });
    this.#closing.push(() => runs.close());
    return runs;
  }

  /** A server in this process, and its only client. */
  async agent(name: string, { owner, runs = this.runs(true, owner) }: { owner?: string; runs?: Runs } = {}) {
    const [ours, theirs] = InMemoryTransport.createLinkedPair();
    const server = createServer(runs);
    await server.connect(theirs as never);
    const client = new Client({ name, version: "1" });
    await client.connect(ours, PATIENTLY);
    this.#closing.push(() => client.close());
    return new Agent(client);
  }

  /** A server in a process of its own. */
  async stdio(name: string, revision: Revision = "2025-11-25", words: readonly string[] = []): Promise<StartedAgent> {
    const transport = new StdioClientTransport({
      command: process.execPath,
      args: [MAIN, "mcp", ...words],
      cwd: this.root,
      stderr: "ignore",
    });
    const client = new Client({ name, version: "1" }, speaking(revision));
    await client.connect(transport, PATIENTLY);
    this.#closing.push(() => client.close());
    return Object.assign(new Agent(client), { pid: transport.pid ?? 0 });
  }

  async http(url: string, name: string, revision: Revision) {
    const client = new Client({ name, version: "1" }, speaking(revision));
    await client.connect(new StreamableHTTPClientTransport(new URL(url)), PATIENTLY);
    this.#closing.push(() => client.close());
    return new Agent(client);
  }

  /** Somebody who uses the library. */
  async library(owner: string, options: Record<string, unknown> = {}): Promise<Holdfast> {
    const holdfast = await openHoldfast({ root: this.root, owner, ...options });
    this.#closing.push(() => holdfast.close());
    return holdfast;
  }

  async close(): Promise<void> {
    for (const close of this.#closing.splice(0).reverse()) await close().catch(() => undefined);
    rmSync(this.root, { recursive: true, force: true });
  }
}

function speaking(revision: Revision) {
  return revision === "2025-11-25" ? {} : { versionNegotiation: { mode: { pin: revision } } };
}
