/**
 * Recognizes the holdfast commands that an agent may not run (POL-5): they end other holders' locks, approve, raise fences,
 * or remove the fence.
 */

const VALUE_BEHIND = new Set(["--root", "--store", "--owner"]);

export function isForPeople(name: string, words: readonly string[]): boolean {
  const own = name === "holdfast" ? words : name === "npx" ? behindHoldfast(words) : null;
  if (own === null) return false;
  const plain = own.filter((word, at) => !word.startsWith("-") && !VALUE_BEHIND.has(own[at - 1] ?? ""));
  const [first, second] = plain;
  const isUninstall = own.includes("--uninstall");
  return (
    (first === "lock" && second === "break") ||
    (first === "doctor" && own.includes("--after-restore")) ||
    first === "approve" ||
    (isUninstall && (first === "migrate" || (first === "hook" && second === "install"))) ||
    (first === "deliverable" && own.includes("--terminate"))
  );
}

function behindHoldfast(words: readonly string[]): readonly string[] | null {
  const at = words.indexOf("holdfast");
  return at < 0 ? null : words.slice(at + 1);
}
