/**
 * Matches names against the patterns of a shell: `*`, `?` and `[…]`. The scanner takes quotes off, so a bracket may have been
 * quoted: `[ab]` matches a, b and itself. Elsewhere too the match is wider where the shell's rule depends on something
 * that cannot be known here: a class such as `[[:alpha:]]` matches every character.
 *
 * The match keeps the set of positions in the pattern that it may have reached, and moves them on together, a character of
 * the name at a time. So it takes at most length of the pattern × length of the name steps, whatever the two are.
 */

type Token =
  | { readonly kind: "any" }
  | { readonly kind: "one"; readonly fits: (char: string) => boolean; readonly next: number };

export interface Glob {
  matches(name: string): boolean;
  /** Steps of all matches so far. */
  readonly steps: number;
}

export function parseGlob(pattern: string): Glob {
  const chars = [...pattern.replace(/\*+/g, "*")]; // A `**` in the last part of a path is a `*`.
  /** Read when they are reached: names are short, however long the pattern is. */
  const tokens: (readonly Token[])[] = [];
  const tokensFrom = (at: number): readonly Token[] => {
    tokens[at] ??= tokensAt(chars, at);
    return tokens[at];
  };
  let steps = 0;
  const addTo = (reached: Set<number>, at: number): void => {
    reached.add(at);
    // mutant: glob-star-empty: === "any") reached.add(at + 1); → === "any") reached.add(at);
    if (tokensFrom(at)[0]?.kind === "any") reached.add(at + 1);
  };
  return {
    get steps() {
      return steps;
    },
    matches(name) {
      let reached = new Set<number>();
      addTo(reached, 0);
      for (const char of name) {
        const further = new Set<number>();
        for (const at of reached)
          for (const token of tokensFrom(at)) {
            steps += 1;
            if (token.kind === "any") addTo(further, at);
            else if (token.fits(char)) addTo(further, token.next);
          }
        if (further.size === 0) return false;
        reached = further;
      }
      return reached.has(chars.length);
    },
  };
}

/** Returns the readings of the pattern from here on. */
function tokensAt(chars: readonly string[], at: number): readonly Token[] {
  const char = chars[at];
  if (char === undefined) return [];
  if (char === "*") return [{ kind: "any" }];
  if (char === "?") return [{ kind: "one", fits: () => true, next: at + 1 }];
  const itself: Token = { kind: "one", fits: (other) => other === char, next: at + 1 };
  const set = char === "[" ? setAt(chars, at) : null;
  // mutant: glob-quoted-bracket: [itself, set] → [set]
  return set === null ? [itself] : [itself, set];
}

/** Returns the bracket that opens here; null when it does not close. A `]` directly behind its opening is a member. */
function setAt(chars: readonly string[], at: number): Token | null {
  const isNegated = chars[at + 1] === "!" || chars[at + 1] === "^";
  const from = at + (isNegated ? 2 : 1);
  const end = chars.indexOf("]", from + 1);
  if (end < 0) return null;
  const members = chars.slice(from, end);
  // A class, or an escape, may close somewhere else: then every character fits, up to any closing bracket.
  if (members.some((member) => member === "[" || member === "\\"))
    return { kind: "one", fits: () => true, next: closingOf(chars, end) + 1 };
  return { kind: "one", fits: (char) => has(members, char) !== isNegated, next: end + 1 };
}

function closingOf(chars: readonly string[], end: number): number {
  return chars[end - 1] === ":" && chars[end + 1] === "]" ? end + 1 : end;
}

function has(members: readonly string[], char: string): boolean {
  for (let at = 0; at < members.length; at += 1) {
    const [low = "", dash, high] = members.slice(at, at + 3);
    if (dash === "-" && high !== undefined) {
      if (low <= char && char <= high) return true;
      at += 2;
    } else if (low === char) return true;
  }
  return false;
}
