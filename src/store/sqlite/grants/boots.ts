/**
 * Numbers the boots of machines: rows name the boot they were written in by its number, because its two long ids would
 * not fit into each.
 */
import type { Instant } from "../../../lock/time.js";
import type { Database } from "../connection/database.js";
import type { Statement } from "../connection/statement.js";

export interface Boot {
  readonly bootId: string;
  readonly machineId: string;
}

export class Boots {
  readonly #select: Statement;
  readonly #find: Statement;
  readonly #insert: Statement;
  readonly #byNumber = new Map<number, Boot>();
  #last: Boot = { bootId: "", machineId: "" };
  #lastNumber = 0;
  #hasNew = false;

  constructor(database: Database) {
    this.#select = database.prepare("SELECT boot_id, machine_id FROM boots WHERE boot = ?");
    this.#find = database.prepare("SELECT boot FROM boots WHERE boot_id = ? AND machine_id = ?");
    this.#insert = database.prepare("INSERT INTO boots (boot_id, machine_id) VALUES (?, ?) RETURNING boot");
  }

  /** The number of a boot, new if need be: only inside a transaction. */
  numberOf({ bootId, machineId }: Instant): number {
    if (bootId !== this.#last.bootId || machineId !== this.#last.machineId) {
      const known = this.#find.get(bootId, machineId);
      const row = known ?? this.#insert.get(bootId, machineId);
      this.#last = { bootId, machineId };
      this.#lastNumber = row?.[0] as number;
      this.#hasNew ||= known === undefined;
    }
    return this.#lastNumber;
  }

  /** Throws a plain `Error` for a number that no row has. */
  at(number: number): Boot {
    let boot = this.#byNumber.get(number);
    if (boot === undefined) {
      const row = this.#select.get(number);
      if (row === undefined) throw new Error(`there is no boot ${number}`);
      boot = { bootId: row[0] as string, machineId: row[1] as string };
      this.#byNumber.set(number, boot);
    }
    return boot;
  }

  /** After a rollback: what was new may be gone again. */
  rolledBack(): void {
    if (!this.#hasNew) return;
    this.#hasNew = false;
    this.#last = { bootId: "", machineId: "" };
    this.#byNumber.clear();
  }
}
