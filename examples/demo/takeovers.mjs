/** Takeovers, read from the audit chain: who took over from whom, why, and how long the lock had been without a holder. */

/** The takeover this entry tells of, or null when it tells of something else. */
export function toTakeover(entry, kills) {
  if (entry.event !== "stolen") return null;
  const { reason, evidence, previous } = entry.details;
  const isDead = reason === "process_dead";
  return {
    name: nameOf(entry.owner),
    from: nameOf(previous.owner),
    file: entry.resource.slice(entry.resource.indexOf("/") + 1),
    isDead,
    ms: isDead ? sinceKill(entry, previous.metadata.pid, kills) : evidence.expired_for_ms,
  };
}

function sinceKill(entry, pid, kills) {
  const kill = kills.find((each) => each.pid === pid);
  return kill === undefined ? null : Math.max(0, Math.round(Date.parse(entry.at) - kill.at));
}

function nameOf(owner) {
  return owner.slice(owner.indexOf(":") + 1);
}
