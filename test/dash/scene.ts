/** A workspace with the page's server on it, and a browser's side of the conversation without a browser. */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { type Dash, serveDash } from "../../src/dash/serve.js";
import { openSources } from "../../src/dash/sources.js";
import { type Holdfast, openHoldfast } from "../../src/index.js";
// Loaded with the file: left to the first call it would count against the time of the first test.
import "../../src/store/sqlite/open.js";

// biome-ignore lint/suspicious/noExplicitAny: the shape is what the tests look at
type Json = any;

export interface Reply {
  readonly status: number;
  readonly headers: Record<string, string | string[] | undefined>;
  readonly text: string;
}

interface Asking {
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string;
}

const PAGE = pathToFileURL(new URL("../../dist/cli/page/", import.meta.url).pathname);

export class Scene implements AsyncDisposable {
  readonly root: string;
  readonly holdfast: Holdfast;
  readonly dash: Dash;
  readonly origin: string;
  readonly errors: Error[] = [];
  readonly links: string[] = [];
  #cookie = "";

  static async open({ store = "sqlite", allowsActions = false, owner = "user:ann", page = PAGE } = {}): Promise<Scene> {
    const root = mkdtempSync(join(tmpdir(), "holdfast-dash-"));
    mkdirSync(join(root, ".holdfast"));
    const place = join(root, ".holdfast", store === "sqlite" ? "holdfast.db" : "locks");
    const holdfast = await openHoldfast({ store: store.includes("://") ? store : `${store}:${place}`, owner });
    const links: string[] = [];
    const errors: Error[] = [];
    const workspace = { root, where: holdfast.storeUrl, owner };
    const sources = await openSources(holdfast, workspace);
    const dash = await serveDash(sources, {
      port: 0,
      allowsActions,
      page,
      version: "1.2.3",
      onEntered: (link) => links.push(link),
      onError: (error) => errors.push(error),
    });
    return new Scene(root, holdfast, dash, links, errors);
  }

  private constructor(root: string, holdfast: Holdfast, dash: Dash, links: string[], errors: Error[]) {
    this.root = root;
    this.holdfast = holdfast;
    this.dash = dash;
    this.origin = new URL(dash.link).origin;
    this.links = links;
    this.errors = errors;
  }

  /** Goes in through the link, as a browser does. */
  async enter(): Promise<this> {
    const { headers } = await this.ask(this.dash.link);
    this.#cookie = String(headers["set-cookie"]).split(";", 1)[0] ?? "";
    return this;
  }

  ask(path: string, { method = "GET", headers = {}, body }: Asking = {}): Promise<Reply> {
    const cookie = this.#cookie === "" ? {} : { cookie: this.#cookie };
    return new Promise((resolve, reject) => {
      const sent = request(new URL(path, this.origin), { method, headers: { ...cookie, ...headers } }, (response) => {
        let text = "";
        response.setEncoding("utf8").on("data", (piece) => {
          text += piece;
        });
        response.once("end", () => resolve({ status: response.statusCode ?? 0, headers: response.headers, text }));
      });
      sent.once("error", reject).end(body);
    });
  }

  /** Goes away in the middle of an order. */
  breakOff(path: string): Promise<void> {
    return new Promise((resolve) => {
      const headers = { cookie: this.#cookie, origin: this.origin, "content-type": "application/json" };
      const sent = request(new URL(path, this.origin), { method: "POST", headers });
      sent.on("error", () => undefined).once("close", resolve);
      sent.write("{", () => setTimeout(() => sent.destroy(), 20));
    });
  }

  /** What a look that must succeed tells. */
  async look(path: string): Promise<Json> {
    const { status, text } = await this.ask(`/api/${path}`);
    if (status !== 200) throw new Error(`${status} ${text}`);
    return JSON.parse(text);
  }

  act(name: string, given: unknown, headers: Record<string, string> = {}): Promise<Reply> {
    return this.ask(`/api/actions/${name}`, {
      method: "POST",
      headers: { origin: this.origin, "content-type": "application/json", ...headers },
      body: JSON.stringify(given),
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.dash.close();
    await this.holdfast.close();
    rmSync(this.root, { recursive: true, force: true });
  }
}
