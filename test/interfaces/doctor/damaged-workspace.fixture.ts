/** Workspaces with something wrong, on the file and the SQLite store. */
import { execFileSync } from "node:child_process";
import { existsSync, lstatSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { type DoctorOptions, examine } from "../../../src/apps/doctor/examine.js";
import { findWorkspace } from "../../../src/features/configuration.js";
import { type Holdfast, openHoldfast } from "../../../src/index.js";
import { markWorkspace } from "../../fixtures/mark-workspace.fixture.js";

export const KINDS = ["sqlite", "file"] as const;
export type Kind = (typeof KINDS)[number];

interface Raw {
  exec(sql: string): void;
  close(): void;
}

export class Ward {
  readonly root: string;
  readonly kind: Kind;

  /** `disk`: on a disk of its own, of that size. */
  constructor(kind: Kind, { disk }: { readonly disk?: string } = {}) {
    this.kind = kind;
    this.root = mkdtempSync(join(tmpdir(), "holdfast-doctor-"));
    onTestFinished(() => rmSync(this.root, { recursive: true, force: true }));
    if (disk !== undefined) this.#mount(disk);
    markWorkspace(this.root);
  }

  #mount(size: string): void {
    execFileSync("mount", ["-t", "tmpfs", "-o", `size=${size}`, "tmpfs", this.root]);
    onTestFinished(() => void execFileSync("umount", ["-l", this.root]));
  }

  get home(): string {
    return this.kind === "sqlite" ? join(this.root, ".holdfast") : join(this.root, ".holdfast", "store");
  }

  get url(): string {
    return this.kind === "sqlite" ? `sqlite:${join(this.home, "holdfast.db")}` : `file:${this.home}`;
  }

  /** With a place of its own for this user's tokens. */
  get env(): NodeJS.ProcessEnv {
    return { XDG_STATE_HOME: join(this.root, "state") };
  }

  async open(owner = "agent:one"): Promise<Holdfast> {
    // No heartbeat while files are compared, however long that takes.
    const holdfast = await openHoldfast({ store: this.url, owner, heart: "loop", heartbeat: "1h", ttl: "24h" });
    onTestFinished(() => holdfast.close());
    return holdfast;
  }

  /** A client that uses the store and is gone. */
  async use<T>(work: (holdfast: Holdfast) => Promise<T>): Promise<T> {
    const holdfast = await openHoldfast({ store: this.url, owner: "agent:one", heart: "loop" });
    try {
      return await work(holdfast);
    } finally {
      await holdfast.close();
    }
  }

  examine(options: DoctorOptions = {}) {
    const place = { cwd: this.root, env: {} };
    const workspace = findWorkspace({ root: this.root, store: this.url, owner: "user:doctor" }, place);
    return examine(workspace, { env: this.env, ...options });
  }

  /** The codes of what it finds. */
  async codes(): Promise<string[]> {
    return (await this.examine()).findings.map(({ code }) => code);
  }

  /** With an editor, or a database tool. */
  change(path: string, edit: (text: string) => string): void {
    const file = join(this.home, path);
    writeFileSync(file, edit(readFileSync(file, "utf8")));
  }

  sql(text: string): void {
    const { DatabaseSync } = createRequire(import.meta.url)("@photostructure/sqlite") as {
      DatabaseSync: new (path: string) => Raw;
    };
    const database = new DatabaseSync(this.url.slice("sqlite:".length));
    database.exec(text);
    database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
    database.close();
  }

  spoil(key: string, how: "unreadable" | "newer"): void {
    if (this.kind === "sqlite") {
      const details = how === "newer" ? `json_set(coalesce(details, '{}'), '$.schema_version', 99)` : `'{"torn'`;
      this.sql(`UPDATE dal_locks SET details = ${details} WHERE resource = '${key}'`);
      return;
    }
    const [tree = "", ...below] = key.split("/");
    const file = join("locks", tree, "below", `${below.join(".d/")}.json`);
    if (existsSync(join(this.home, file)))
      this.change(file, (text) =>
        how === "unreadable" ? text.slice(0, 20) : text.replace('"schema_version":1', '"schema_version":99'),
      );
    else
      this.change(join("locks", tree, "tree.json"), (text) =>
        how === "unreadable"
          ? text.replace(`"resource":"${key}","mode":"`, `"resource":"${key}","mode":"no `)
          : text.replace(/"schema_version":1(?=,"lock_id")/, '"schema_version":99'),
      );
  }

  /** Every file and folder of the workspace: what it holds and when it was changed. */
  everything(): Record<string, string> {
    const found: Record<string, string> = {};
    for (const name of ["", ...readdirSync(this.root, { recursive: true, encoding: "utf8" })]) {
      const path = join(this.root, name);
      const { mtimeNs, ctimeNs, mode, ino } = lstatSync(path, { bigint: true });
      const content = lstatSync(path).isFile() ? readFileSync(path).toString("base64") : "";
      found[name] = [ino, mode, mtimeNs, ctimeNs, content].join(" ");
    }
    return found;
  }
}
