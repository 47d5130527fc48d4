/** Whether what the agents have left can be: each problem in a sentence. */
import type { AuditEntry, BoardEvent, Edit, Facts } from "./facts.js";

interface Case extends Facts {
  /** Owners. */
  readonly agents: readonly string[];
  readonly killed: readonly string[];
}

const ENDS = ["released", "recovered", "stolen", "broken"];
const BY_OTHERS = ["recovered", "stolen"];

export function problemsIn(facts: Case): readonly string[] {
  const { isAuditSound, states, held, findings } = facts;
  return [
    ...lostEdits(facts),
    ...editsNotAsTheBoardSays(facts),
    ...editsWithoutLock(facts),
    ...doubleGrants(facts.audit),
    ...issuesNotClosedOnce(facts),
    ...claimsWithoutLock(facts),
    ...gapsIn(facts.events),
    ...deadWhoWereNotRecovered(facts),
    ...idle(facts),
    ...(isAuditSound ? [] : ["the audit trail does not verify"]),
    ...states.filter((state) => state !== "done").map((state) => `an issue is ${state}`),
    ...held.map((key) => `${key} is still held`),
    ...findings.map((message) => `the doctor says: ${message}`),
  ];
}

function lostEdits({ acknowledged, edits }: Case): string[] {
  const there = edits.map(told);
  return acknowledged.map(told).flatMap((edit) => {
    const times = there.filter((each) => each === edit).length;
    return times === 1 ? [] : [`acknowledged and there ${times} times: ${edit}`];
  });
}

/** Each file has one line for each issue that names it, whoever wrote it, and no other. */
function editsNotAsTheBoardSays({ issues, edits }: Case): string[] {
  const wanted = [...issues].flatMap(([issue, files]) => files.map((file) => `${issue} in ${file}`));
  const there = edits.map(({ issue, file }) => `${issue} in ${file}`);
  return [
    ...wanted.filter((each) => there.filter((other) => other === each).length !== 1).map((each) => `not once: ${each}`),
    ...there.filter((each) => !wanted.includes(each)).map((each) => `not wanted: ${each}`),
  ];
}

/** Each line was written by the one who had the lock with that token, and in the order in which they had it. */
function editsWithoutLock({ edits, audit }: Case): string[] {
  const granted = grantsIn(audit);
  return edits.flatMap((edit, at) => {
    const { file, owner, token } = edit;
    if (!granted.has(`path/${file} ${owner} ${token}`)) return [`written without its lock: ${told(edit)}`];
    const before = edits[at - 1];
    const isInOrder = before?.file !== file || (before.token ?? 0) < (token ?? 0);
    return isInOrder ? [] : [`written under a lock that was over: ${told(edit)}`];
  });
}

/** One holder at a time, as the trail tells it. */
function doubleGrants(audit: readonly AuditEntry[]): string[] {
  const holders = new Map<string, string | null>();
  const problems: string[] = [];
  for (const { event, resource, lock_id, owner } of [...audit].sort((a, b) => a.seq - b.seq)) {
    if (event === "granted") {
      if (holders.has(resource)) problems.push(`granted while it was held: ${resource} to ${owner}`);
      holders.set(resource, lock_id);
    } else if (ENDS.includes(event)) {
      if (holders.get(resource) !== lock_id) problems.push(`${event}, and nobody had it: ${resource}`);
      holders.delete(resource);
    }
  }
  return [...problems, ...[...holders.keys()].map((key) => `granted and never ended: ${key}`)];
}

/** By the one who claimed it last. */
function issuesNotClosedOnce({ issues, events }: Case): string[] {
  return [...issues.keys()].flatMap((issue) => {
    const of = events.filter(({ id }) => id === issue);
    const closed = of.filter(({ event }) => event === "closed");
    if (closed.length !== 1) return [`issue ${issue} was closed ${closed.length} times`];
    const by = of.filter(({ event }) => event === "claimed").at(-1)?.by;
    return closed[0]?.by === by ? [] : [`issue ${issue} was claimed by ${by} and closed by ${closed[0]?.by}`];
  });
}

function claimsWithoutLock({ events, audit }: Case): string[] {
  const granted = grantsIn(audit);
  return events
    .filter(({ event }) => event === "claimed")
    .filter(({ id, by, changes }) => !granted.has(`issue:${id} ${by} ${changes.claim?.fencing_token}`))
    .map(({ id, by }) => `issue ${id} was claimed by ${by} without its lock`);
}

function gapsIn(events: readonly BoardEvent[]): string[] {
  return events.flatMap(({ seq }, at) => (seq === at + 1 ? [] : [`event ${seq} of the board stands at ${at + 1}`]));
}

/** Others have ended the dead one's claim and its lock on a file. */
function deadWhoWereNotRecovered({ audit, killed }: Case): string[] {
  return killed.flatMap((owner) =>
    ["path/", "issue:"]
      .filter((tree) => !audit.some((entry) => isEndedByOthers(entry, owner) && entry.resource.startsWith(tree)))
      .map((tree) => `nobody has recovered ${tree}… of ${owner}`),
  );
}

function isEndedByOthers({ event, details }: AuditEntry, owner: string): boolean {
  return BY_OTHERS.includes(event) && details.previous?.owner === owner;
}

function idle({ agents, acknowledged }: Case): string[] {
  return agents
    .filter((agent) => !acknowledged.some(({ owner }) => owner === agent))
    .map((agent) => `${agent} has edited nothing`);
}

function grantsIn(audit: readonly AuditEntry[]): ReadonlySet<string> {
  const grants = audit.filter(({ event }) => event === "granted");
  return new Set(grants.map(({ resource, owner, fencing_token }) => `${resource} ${owner} ${fencing_token}`));
}

function told({ file, issue, owner, token }: Edit): string {
  return `${issue} in ${file} by ${owner} under ${token}`;
}
