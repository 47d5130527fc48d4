// Medians and ratios over rounds.

export function median(values) {
  return quantile(values, 0.5);
}

/** The smallest value that at least this share of the values do not exceed. */
export function quantile(values, share) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)];
}

/** Both sides of a ratio come from the same round, so that a slow minute of the machine slows both. */
export function ratioOf(ours, peer) {
  return spreadOf(ours.map((value, round) => value / peer[round]));
}

/** The median, and between which values the middle half lies. */
export function spreadOf(values) {
  return { value: median(values), low: quantile(values, 0.25), high: quantile(values, 0.75) };
}
