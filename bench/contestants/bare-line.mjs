// The least that still is a lock with a line and a record: a guard, one block that says who holds it and who waits, a
// number that grows, two chained entries a turn, and whoever releases names the next and wakes it. No lease, no proof of
// life, no rules, no repair, one kind of lock. What it costs is the floor under everything that does more.
import { hash } from "node:crypto";
import { closeSync, mkdirSync, openSync, readSync, watch, writeSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import native from "fs-native-extensions";

const BLOCK = 4_096;
const SPINS = 40;
const NOTHING = { fence: 0, holder: null, line: [], seq: 0, hash: "0" };

export async function openBareLine(folder) {
  const me = String(process.pid);
  const bells = join(folder, "bells");
  mkdirSync(bells, { recursive: true });
  const bellOf = keep((name) => openSync(join(bells, name), "a+"));
  bellOf(me);
  let rung = withResolvers();
  const watcher = watch(join(bells, me), { persistent: false }, () => rung.resolve());
  const lockOf = keep((key) => openLock(join(folder, key)));

  const release = async (key) => {
    const lock = lockOf(key);
    await enter(lock.guard);
    try {
      const state = lock.read();
      const entries = [entry(state, "released", me)];
      state.holder = state.line.shift() ?? null;
      if (state.holder !== null) {
        state.fence += 1;
        entries.push(entry(state, "granted", state.holder));
      }
      writeSync(lock.audit, entries.join(""));
      lock.write(state);
      if (state.holder !== null) writeSync(bellOf(state.holder), "\n", 0);
    } finally {
      native.unlock(lock.guard);
    }
  };

  return {
    async take(key) {
      const lock = lockOf(key);
      rung = withResolvers();
      await enter(lock.guard);
      try {
        const state = lock.read();
        if (state.holder === null) {
          state.holder = me;
          state.fence += 1;
          writeSync(lock.audit, entry(state, "granted", me));
        } else state.line.push(me);
        lock.write(state);
      } finally {
        native.unlock(lock.guard);
      }
      while (lock.peek().holder !== me) {
        await rung.promise;
        rung = withResolvers();
      }
      return { release: () => release(key) };
    },
    close: async () => watcher.close(),
  };
}

function openLock(path) {
  const block = Buffer.alloc(BLOCK);
  closeSync(openSync(`${path}.state`, "a"));
  const state = openSync(`${path}.state`, "r+");
  return {
    guard: openSync(`${path}.guard`, "a+"),
    audit: openSync(`${path}.audit`, "a"),
    read() {
      const length = readSync(state, block, 0, BLOCK, 0);
      return length === 0 ? { ...NOTHING, line: [] } : JSON.parse(block.latin1Slice(0, length));
    },
    /** Without the guard, so a write may be half-way there: then it is looked at again. */
    peek() {
      for (;;) {
        try {
          return this.read();
        } catch (error) {
          if (!(error instanceof SyntaxError)) throw error;
        }
      }
    },
    write(value) {
      writeSync(state, JSON.stringify(value).padEnd(BLOCK / 2), 0);
    },
  };
}

function entry(state, event, who) {
  state.seq += 1;
  const at = new Date().toISOString();
  const body = `{"seq":${state.seq},"at":"${at}","event":"${event}","holder":"${who}","fencing_token":${state.fence},"prev_hash":"${state.hash}"`;
  state.hash = hash("sha256", body);
  return `${body},"hash":"${state.hash}"}\n`;
}

async function enter(guard) {
  for (let spin = 0; ; spin += 1) {
    if (tryLock(guard)) return;
    if (spin >= SPINS) await sleep(1);
  }
}

/** Without the stack of an error that nobody sees. */
function tryLock(guard) {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  try {
    return native.tryLock(guard, 0, 0, { shared: false });
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}

function keep(open) {
  const kept = new Map();
  return (name) => {
    if (!kept.has(name)) kept.set(name, open(name));
    return kept.get(name);
  };
}

function withResolvers() {
  let resolve;
  const promise = new Promise((done) => {
    resolve = done;
  });
  return { promise, resolve };
}
