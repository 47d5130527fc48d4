/** The verdict: what the evidence says, finding by finding. Pure, so that a test can hand it bad evidence. */
import { toTakeover } from "./takeovers.mjs";

export function judge(evidence) {
  const findings = [
    ...judgeUpdates(evidence),
    judgeFiles(evidence),
    ...judgeRefusals(evidence),
    judgeTakeovers(evidence),
    judgeTokens(evidence),
    judgeAudit(evidence),
  ];
  const { kills, stops, crashes } = evidence.deeds;
  const failures = findings.flatMap(({ failure }) => failure ?? []);
  if (kills.length === 0) failures.push("nobody was killed, so nothing was proven");
  if (crashes.length > 0) failures.push(`a worker ended by itself (${crashes.join("; ")})`);
  const done = [count(kills.length, "kill"), count(stops, "freeze")].join(", ");
  const isGood = failures.length === 0;
  const sentence = isGood
    ? `Holdfast held: ${done}, ${count(evidence.acknowledged.length, "acknowledged update")}, none lost.`
    : `Failed: ${failures.join("; ")}.`;
  return { isGood, findings, sentence };
}

function judgeUpdates({ acknowledged, files, deeds }) {
  const written = files.flatMap((file) => file.updates.map((update) => `${file.name} ${update.id}`));
  const present = new Set(written);
  const promised = new Set(acknowledged.map(({ file, id }) => `${file} ${id}`));
  const lost = [...promised].filter((update) => !present.has(update));
  const unsaid = [...present].filter((update) => !promised.has(update));
  const killed = new Set(deeds.kills.map(({ pid }) => String(pid)));
  const strange = unsaid.filter((update) => !killed.has(update.split(".").at(-2) ?? ""));
  const twice = written.length - present.size;
  return [
    finding("updates acknowledged", promised.size, "in the workers' own logs", [
      [promised.size === 0, "nothing was acknowledged"],
    ]),
    finding(
      "present in the data",
      present.size,
      unsaid.length === 0 ? "" : `${unsaid.length} by a worker killed before noting it`,
      [
        [twice > 0, `${count(twice, "update")} in the data twice`],
        [strange.length > 0, `${count(strange.length, "update")} in the data that nobody acknowledged`],
      ],
    ),
    finding("lost", lost.length, "", [
      [lost.length > 0, `${count(lost.length, "acknowledged update")} lost, such as ${lost[0]}`],
    ]),
  ];
}

function judgeFiles({ files }) {
  const wrong = files.filter(({ problem }) => problem !== null);
  const sizes = files.map(({ name, updates }) => `${name} ${updates.length}`).join(", ");
  return finding("sums right in files", `${files.length - wrong.length} of ${files.length}`, sizes, [
    [wrong.length > 0, wrong.map(({ name, problem }) => `${name}: ${problem}`).join(", ")],
  ]);
}

function judgeRefusals({ refused, files }) {
  const present = new Set(files.flatMap(({ updates }) => updates.map(({ id }) => id)));
  const sneaked = refused.filter(({ id }) => present.has(id));
  const harmful = refused.filter(({ wouldErase }) => wouldErase > 0);
  const erased = harmful.reduce((sum, { wouldErase }) => sum + wouldErase, 0);
  const byLease = tally(refused.map(({ code }) => code));
  const byStore = tally(refused.map(({ storeCode }) => storeCode));
  return [
    finding("stale commits refused", refused.length, `by the lease itself: ${byLease}; by the store: ${byStore}`, [
      [refused.length === 0, "no stale commit was refused"],
      [sneaked.length > 0, `${count(sneaked.length, "refused commit")} in the data all the same`],
    ]),
    finding("overwrites prevented", harmful.length, `${count(erased, "newer update")} would have been erased`, []),
  ];
}

function judgeTakeovers({ audit, deeds }) {
  const takeovers = audit.entries.flatMap((entry) => toTakeover(entry, deeds.kills) ?? []);
  const times = takeovers.flatMap(({ ms }) => ms ?? []).sort((a, b) => a - b);
  const dead = takeovers.filter(({ isDead }) => isDead).length;
  const wronged = takeovers.length - times.length;
  const p50 = times[Math.ceil(times.length / 2) - 1] ?? 0;
  const note = `p50 ${p50} ms, max ${times.at(-1) ?? 0} ms (${dead} killed, ${takeovers.length - dead} run out)`;
  return finding("takeovers", takeovers.length, note, [
    [takeovers.length === 0, "nobody took over from anybody"],
    [wronged > 0, `${count(wronged, "living worker")} taken for dead`],
  ]);
}

function judgeTokens({ audit, files }) {
  const grants = audit.entries.filter(({ event }) => event === "granted").sort((a, b) => a.seq - b.seq);
  const grew = [
    grants.map((entry) => entry.fencing_token ?? 0),
    ...files.map(({ updates }) => updates.map(({ token }) => token)),
  ].every(grows);
  return finding("fencing tokens", grants.length, "grants, each number higher than the last", [
    [!grew, "a fencing token went back"],
  ]);
}

function judgeAudit({ audit: { verdict, entries } }) {
  const [bad] = verdict.bad;
  const why = bad === undefined ? "entries are missing" : `entry ${bad.seq}: ${bad.why}`;
  return finding("audit chain", verdict.entries, "entries, every hash recomputed", [
    [!verdict.ok || entries.length !== verdict.entries, `the audit chain is broken (${why})`],
  ]);
}

/** The first of `checks` that is true is what is wrong. */
function finding(name, value, note, checks) {
  const failure = checks.find(([isWrong]) => isWrong)?.[1] ?? null;
  return { name, value: typeof value === "number" ? value.toLocaleString("en") : value, note, failure };
}

function grows(numbers) {
  return numbers.every((number, at) => at === 0 || number > (numbers[at - 1] ?? 0));
}

function tally(codes) {
  const kinds = [...new Set(codes)].map((code) => `${code} ${codes.filter((each) => each === code).length}`);
  return kinds.length === 0 ? "none" : kinds.join(", ");
}

function count(number, thing) {
  return `${number.toLocaleString("en")} ${thing}${number === 1 ? "" : "s"}`;
}
