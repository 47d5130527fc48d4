/** A folder with a store on SQLite, gone when it is disposed. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Holdfast, openHoldfast } from "../../../src/index.js";

export class Place {
  readonly dir = mkdtempSync(join(tmpdir(), "dal-"));
  readonly #open: { close(): unknown }[] = [];

  get store(): string {
    return `sqlite:${join(this.dir, "store.db")}`;
  }

  async client(owner = "agent:a"): Promise<Holdfast> {
    return this.keep(await openHoldfast({ store: this.store, owner, heart: "loop" }));
  }

  keep<T extends { close(): unknown }>(what: T): T {
    this.#open.push(what);
    return what;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const each of this.#open.reverse()) await each.close();
    rmSync(this.dir, { recursive: true, force: true });
  }
}
