/**
 * A worker: takes turns as long as it has room, runs the handlers, sends one heartbeat for all runs, and settles each.
 * The heartbeat comes from this event loop: a handler that blocks it loses its slot, which is right, because from
 * outside it looks like a worker that hangs. Work that blocks belongs into a module, which has a process of its own, or
 * into a command.
 *
 * What a crash leaves: slots without a heartbeat. The next turn of any worker takes them back when their lease is over. A
 * worker whose heartbeats do not get through for a lease ends its runs itself: by then another worker may run the jobs.
 */
import { hostname } from "node:os";
import { checkOptions, type OptionNames } from "../../base/check-options.js";
import { type Duration, parseDuration } from "../../base/duration.js";
import { invalidArgument } from "../../base/errors.js";
import { given } from "../../base/given.js";
import { sleep } from "../../base/sleep.js";
import type { Kernel, Scripts } from "../../client/kernel.js";
import { newLeaseToken } from "../../lock/lease-token.js";
import { Keeper } from "../../platform/process/watcher.js";
import { CautiousCalendar } from "./cautious-calendar.js";
import { givenLocks, type Kind } from "./kind.js";
import { Cancelled, HandedBack, RunInHand } from "./running-job.js";
import type { GivenLocks } from "./scripts/kind-rules.js";
import { lookAtCalendar, prune } from "./scripts/prune.js";
import { beat } from "./scripts/settle.js";
import { differences, signOff } from "./scripts/state/definitions.js";
import { newWorkerName, type Turn, takeBackOld, turn } from "./scripts/turn.js";
import { type Ride, Settler } from "./settler.js";
import { COMMANDS, kindLabel } from "./unmet-needs.js";

export interface WorkerOptions {
  /** Runs at once. Default 4. */
  readonly concurrency?: number;
  /** Labels of what this machine can reach, such as `fs:projects-a`. */
  readonly has?: readonly string[];
  /** The machine's name. Default its host name. */
  readonly node?: string;
  /** Runs jobs that are commands too. */
  readonly commands?: boolean;
  /** A run that is not heard of for this long is taken back. Default 30 s; 1 s to 1 h. */
  readonly lease?: Duration;
  /** How often it looks for work when there was none. Default 100 ms. */
  readonly poll?: Duration;
  /** Told of turns and beats that failed; they are tried again. */
  readonly onError?: (error: unknown) => void;
  /**
   * Receives a kind that live workers define differently, once until that changes: a kind that this worker defines, or any
   * with `commands`. Default: `process.emitWarning`, code `HOLDFAST_KINDS_DIFFER`.
   */
  readonly onKindsDiffer?: (kind: string) => void;
}

export interface Worker {
  readonly name: string;
  /** Runs in hand. */
  readonly running: number;
  /** Takes no more; resolves when what runs is over, or handed back after `grace`. Without one it waits. */
  stop(options?: { readonly grace?: Duration }): Promise<void>;
}

const WORK: OptionNames<WorkerOptions> = {
  concurrency: true,
  has: true,
  node: true,
  commands: true,
  lease: true,
  poll: true,
  onError: true,
  onKindsDiffer: true,
};
const STOP: OptionNames<{ readonly grace?: Duration }> = { grace: true };
const LEASE = { atLeastMs: 1_000, atMostMs: 3_600_000 };
const POLL = { atLeastMs: 1, atMostMs: 60_000 };
const GRACE = { atLeastMs: 0, atMostMs: 24 * 3_600_000 };
const MOST_AT_ONCE = 10_000;
/** How often jobs that were kept long enough are taken away, and when more are left. */
const [PRUNE_EVERY_MS, PRUNE_AGAIN_MS] = [60_000, 200];
/** A cancelled run learns of it with a beat. */
const LONGEST_BEAT_MS = 2_000;
const LONGEST_COMPARE_MS = 5_000;

/** `E_INVALID_ARGUMENT` naming the option. */
export function startWorker(
  kernel: Kernel,
  scripts: Scripts,
  kinds: ReadonlyMap<string, Kind>,
  options: WorkerOptions,
): Worker {
  checkOptions(options, WORK);
  const { concurrency = 4, node = hostname(), onError = () => undefined, onKindsDiffer = warnOfKind } = options;
  if (!Number.isInteger(concurrency) || concurrency < 1 || concurrency > MOST_AT_ONCE)
    throw invalidArgument("concurrency", `a whole number from 1 to ${MOST_AT_ONCE}`);
  const leaseMs = parseDuration(options.lease ?? 30_000, "lease", LEASE);
  const pollMs = parseDuration(options.poll ?? 100, "poll", POLL);
  const beatMs = Math.min(LONGEST_BEAT_MS, leaseMs / 4);
  const name = newWorkerName(node);
  const labels = [...(options.has ?? []), ...(options.commands ? [COMMANDS] : [])];
  const inHand = new Set<RunInHand>();
  const stopping = new AbortController();
  const { requester: party } = kernel;
  /** A turn under way, however it is taken, and what it brings. There is one at a time, so that room is given away once. */
  let turning: Promise<Turn | null> | null = null;
  let turnedAt = Number.NEGATIVE_INFINITY;
  let isBehind = false;
  /** Somebody added a job, or a run was settled, since the last turn began. */
  let isWoken = false;
  /** Locks that functions gave, until a turn has brought them into the store. */
  let answers: readonly GivenLocks[] = [];

  const nextTurn = (room: number): Ride => {
    const askedAt = performance.now();
    let resolve: (taken: Turn | null) => void = () => undefined;
    turning = new Promise((each) => {
      resolve = each;
    });
    isWoken = false;
    const has = [...[...kinds.keys()].map(kindLabel), ...labels];
    const definitions = Object.fromEntries([...kinds].map(([kind, { definition }]) => [kind, definition]));
    return {
      turn: {
        worker: name,
        node,
        has,
        concurrency,
        room,
        leaseMs,
        definitions,
        given: answers,
        inHand: [...inHand].map(({ run }) => run.job.id),
        party,
        newToken: newLeaseToken,
      },
      over(taken) {
        turning = null;
        for (const run of taken?.runs ?? []) {
          const each = new RunInHand(run, kinds.get(run.job.kind), askedAt, hands);
          inHand.add(each);
          // mutant: job-store-lost: kernel.whileHeld(each); → kernel.whileHeld({ onStoreLost: () => undefined });
          const held = kernel.whileHeld(each);
          void each.over.then(() => {
            held[Symbol.dispose]();
            inHand.delete(each);
            if (isWoken) wake();
          });
        }
        if (taken === null) isWoken = true;
        else {
          [turnedAt, isBehind] = [askedAt, taken.isBehind];
          answers = taken.asked.flatMap((asked) => givenLocks(asked, kinds.get(asked.kind)) ?? []);
        }
        resolve(taken);
      },
    };
  };

  /** Also with no room it keeps house and is seen to be there. One that rides along counts. */
  const takeTurn = async (): Promise<void> => {
    while (turning !== null) if ((await turning) !== null) return;
    const { turn: of, over } = nextTurn(stopping.signal.aborted ? 0 : concurrency - inHand.size);
    const taken = scripts.run(() => turn(of), { durable: false });
    await taken.then(over, () => over(null));
    await taken;
  };

  const settler = new Settler(scripts, party, {
    next: (settling) =>
      turning !== null || stopping.signal.aborted ? null : nextTurn(concurrency - inHand.size + settling),
    missed: () => look(),
  });
  const keeper = new Keeper(onError);
  const hands = { kernel, scripts, settler, keeper };

  const keep = async (): Promise<void> => {
    const all = [...inHand];
    const askedAt = performance.now();
    const beats = all.map(({ run, progress }) => ({
      job: run.job.id,
      fence: run.fence,
      ...given({ progress }),
    }));
    const pulses = all.length === 0 ? [] : await scripts.run(() => beat(beats), { durable: false });
    for (const [at, each] of all.entries()) {
      const pulse = pulses[at];
      if (pulse === "lost") each.lose();
      else each.kept(askedAt, beats[at]?.progress);
      if (pulse === "cancelling") each.ended.abort(new Cancelled(`job ${each.run.job.id} was cancelled`));
    }
  };

  let wake: () => void = () => undefined;
  const look = (): void => {
    isWoken = true;
    wake();
  };
  const listening = scripts.listen(look);

  let isBeating = false;
  const beats = setInterval(() => {
    for (const each of inHand) if (each.isLapsed) each.lose();
    if (isBeating) return;
    isBeating = true;
    void keep()
      .catch(onError)
      .finally(() => {
        isBeating = false;
      });
  }, beatMs);

  /** `stop` wakes it too. Not by a signal made of two: in Node 20 each of those leaves something behind in both. */
  const pause = async (ms: number): Promise<void> => {
    if (stopping.signal.aborted) return;
    const enough = new AbortController();
    wake = () => enough.abort();
    await sleep(ms, enough.signal).catch(() => undefined);
    wake = () => undefined;
  };

  /** How long until it is to take a turn by itself. */
  const dueMs = (): number => {
    const isFull = inHand.size >= concurrency;
    if (answers.length > 0) return 0;
    if (!isFull && (isWoken || isBehind)) return 0;
    return turnedAt + (isFull ? beatMs : pollMs) - performance.now();
  };

  const told = new Map<string, string>();
  let compareAt = Number.NEGATIVE_INFINITY;
  /** Behind a turn, which has recorded what this worker defines. */
  const compareKinds = async (): Promise<void> => {
    if (performance.now() < compareAt || turnedAt === Number.NEGATIVE_INFINITY) return;
    compareAt = performance.now() + Math.min(leaseMs / 4, LONGEST_COMPARE_MS);
    const about = options.commands ? null : new Set(kinds.keys());
    const found = await scripts.look(() => differences(about));
    for (const { kind, definitions } of found) {
      const text = JSON.stringify(definitions);
      if (told.get(kind) !== text) onKindsDiffer(kind);
      told.set(kind, text);
    }
    for (const kind of told.keys()) if (!found.some((each) => each.kind === kind)) told.delete(kind);
  };

  const calendar = new CautiousCalendar();
  let believedMs = 0;
  let isMoreOld = false;
  let pruneAt = 0;
  const keepHouse = async (): Promise<void> => {
    if (performance.now() < pruneAt) return;
    await scripts.run(() => takeBackOld(party), { durable: false });
    if (!isMoreOld) {
      const { wallMs, lastEndMs } = await scripts.run(lookAtCalendar, { durable: false });
      believedMs = calendar.look(wallMs, lastEndMs, kernel.clock().bootMs);
    }
    isMoreOld = await scripts.run(() => prune(party, believedMs), { durable: false });
    pruneAt = performance.now() + (isMoreOld ? PRUNE_AGAIN_MS : PRUNE_EVERY_MS);
  };

  /** What fails is tried again after a pause; nothing but `stop` ends it. */
  const takeTurns = async (): Promise<void> => {
    while (!stopping.signal.aborted)
      try {
        await keepHouse();
        await compareKinds();
        const waitMs = dueMs();
        // Runs that end meanwhile may change when it is due.
        if (waitMs > 0) await pause(Math.min(waitMs, pollMs));
        else await takeTurn();
      } catch (error) {
        onError(error);
        await sleep(Math.max(pollMs, 500), stopping.signal).catch(() => undefined);
      }
  };
  const loop = takeTurns();

  /** While its runs go on, a worker that stops is there: its definitions hold, and its functions answer. */
  const stay = async (): Promise<void> => {
    const over = new AbortController();
    void Promise.all([...inHand].map((each) => each.over)).then(() => over.abort());
    // mutant: worker-that-stops: while (inHand.size > 0) { → while (inHand.size < 0) {
    while (inHand.size > 0) {
      await sleep(beatMs, over.signal).catch(() => undefined);
      if (inHand.size > 0) await takeTurn().catch(onError);
    }
  };

  return {
    name,
    get running() {
      return inHand.size;
    },
    async stop(stopOptions = {}) {
      checkOptions(stopOptions, STOP);
      const { grace } = stopOptions;
      const graceMs = grace === undefined ? undefined : parseDuration(grace, "grace", GRACE);
      stopping.abort();
      wake();
      await loop;
      // One that was under way may have brought more.
      await turning;
      const late = graceMs === undefined ? undefined : setTimeout(() => handBack(inHand), graceMs);
      await Promise.all([stay(), ...[...inHand].map((each) => each.over)]);
      clearTimeout(late);
      clearInterval(beats);
      keeper.close();
      listening[Symbol.dispose]();
      await scripts.run(() => signOff(name), { durable: false }).catch(onError);
    },
  };
}

function warnOfKind(kind: string): void {
  process.emitWarning(`live workers define the kind ${kind} differently: the strictest of their rules hold`, {
    type: "HoldfastWarning",
    code: "HOLDFAST_KINDS_DIFFER",
  });
}

function handBack(inHand: ReadonlySet<RunInHand>): void {
  for (const each of inHand) each.ended.abort(new HandedBack("the worker stops"));
}
