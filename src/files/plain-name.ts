/**
 * Encodes a name as the name of a file, readable, and apart from every other on all file systems: those that ignore case,
 * forbid characters, or reserve names such as `con`.
 */

const PLAIN = /^[a-z0-9._\-+=,@~]*$/;
const OTHERS = /[^a-z0-9._\-+=,@~]/g;
const RESERVED = /^(?:con|prn|aux|nul|com\d|lpt\d)(?=\.|$)/;

/** All but `a-z 0-9 . _ - + = , @ ~` is percent-encoded, as UTF-8; so are a dot at the end and the beginning of a reserved name. */
export function plainName(name: string): string {
  if (PLAIN.test(name)) return apart(name);
  return apart(Buffer.from(name).toString("latin1").replace(OTHERS, percent));
}

/** The name that was encoded. */
export function nameOfPlain(plain: string): string {
  const bytes = plain.replace(/%([0-9a-f]{2})/g, (_, digits: string) =>
    String.fromCharCode(Number.parseInt(digits, 16)),
  );
  return Buffer.from(bytes, "latin1").toString();
}

function apart(name: string): string {
  const whole = name.endsWith(".") ? `${name.slice(0, -1)}${percent(".")}` : name;
  // mutant: plain-reserved: RESERVED.test(whole) ? → RESERVED.test("") ?
  return RESERVED.test(whole) ? percent(whole.charAt(0)) + whole.slice(1) : whole;
}

function percent(char: string): string {
  return `%${char.charCodeAt(0).toString(16).padStart(2, "0")}`;
}
