/**
 * Batches calls of one kind that can share a statement. While some are under way, those that come after wait for one of
 * them to be answered, never for longer than a moment, and then go together: one message, one step of the server and
 * one sync of its disk for all. A single call, or a few, are sent at once: batching would delay them more than it
 * saves.
 *
 * The server carries out the simple calls of a shared statement; each of the others is then sent alone.
 */
/** So many calls, of all kinds together, go each as it comes. */
const FEW = 4;
/** When there are more: so many statements of a kind before others wait. */
const UNDER_WAY = 2;
/** One that is held up by the server holds up nobody else for longer than this. */
// mutant: postgres-each-patience: const PATIENCE_MS = 3; → const PATIENCE_MS = 3_000_000;
const PATIENCE_MS = 3;
const MOST_TOGETHER = 32;

/** What the convoys of one client know of each other. */
export interface Traffic {
  /** Calls that were not answered yet, under way or waiting. */
  calls: number;
}

export interface Shared<Told> {
  /** What was not done is missing. */
  readonly told: readonly (Told | undefined)[];
  /** True when it was sent more than once, so that an earlier try may have done it. */
  readonly again: boolean;
}

export interface Route<Item, Told> {
  /** Whether they may share a statement, as far as the first of them is concerned. */
  fits(first: Item, other: Item): boolean;
  /** At most one of each goes in a statement. */
  treeOf(item: Item): string;
  send(items: readonly [Item, ...Item[]]): Promise<Shared<Told>>;
  alone(item: Item, again: boolean): Promise<Told>;
}

interface Passenger<Item, Told> {
  readonly item: Item;
  readonly resolve: (told: Told | Promise<Told>) => void;
  readonly reject: (error: unknown) => void;
}

export function createConvoy<Item, Told>(route: Route<Item, Told>, traffic: Traffic): (item: Item) => Promise<Told> {
  const waiting: Passenger<Item, Told>[] = [];
  let underWay = 0;
  let patience: NodeJS.Timeout | undefined;

  // mutant: postgres-each-few: traffic.calls <= FEW || underWay < UNDER_WAY → underWay < UNDER_WAY
  const mayDepart = (): boolean => traffic.calls <= FEW || underWay < UNDER_WAY;

  const arrived = (): void => {
    underWay -= 1;
    if (waiting.length > 0 && mayDepart()) depart();
  };

  function depart(): void {
    const group = nextGroup();
    if (waiting.length === 0) {
      clearTimeout(patience);
      patience = undefined;
    }
    const [first, ...others] = group;
    if (first === undefined) return;
    underWay += 1;
    const done = others.length === 0 ? ride(first, false) : rideTogether(first, others);
    done.then(arrived);
  }

  /** The first, and whoever may go with it. */
  function nextGroup(): readonly Passenger<Item, Told>[] {
    const first = waiting.shift();
    if (first === undefined || waiting.length === 0) return first === undefined ? [] : [first];
    const group = [first];
    const trees = new Set([route.treeOf(first.item)]);
    const left = waiting.splice(0).filter((each) => {
      const tree = route.treeOf(each.item);
      if (group.length === MOST_TOGETHER || trees.has(tree) || !route.fits(first.item, each.item)) return true;
      trees.add(tree);
      group.push(each);
      return false;
    });
    waiting.push(...left);
    return group;
  }

  /** Never fails: its passenger is told. */
  function ride({ item, resolve, reject }: Passenger<Item, Told>, again: boolean): Promise<void> {
    return route.alone(item, again).then(resolve, reject);
  }

  async function rideTogether(first: Passenger<Item, Told>, others: readonly Passenger<Item, Told>[]): Promise<void> {
    const group = [first, ...others];
    try {
      const { told, again } = await route.send([first.item, ...others.map(({ item }) => item)]);
      for (const [at, each] of group.entries()) {
        const answer = told[at];
        // mutant: postgres-each-again: === undefined) ride(each, again); → === undefined) ride(each, false);
        if (answer === undefined) ride(each, again);
        else each.resolve(answer);
      }
    } catch (error) {
      for (const { reject } of group) reject(error);
    }
  }

  return (item) => {
    traffic.calls += 1;
    const told = new Promise<Told>((resolve, reject) => {
      waiting.push({ item, resolve, reject });
      if (mayDepart()) depart();
      else patience ??= setTimeout(outOfPatience, PATIENCE_MS);
    });
    return told.finally(() => {
      traffic.calls -= 1;
    });
  };

  function outOfPatience(): void {
    patience = undefined;
    depart();
    if (waiting.length > 0) patience ??= setTimeout(outOfPatience, PATIENCE_MS);
  }
}
