/**
 * Applies the table of rooms to a list of files. Every function here is pure, except `readTree`: the law of a tree that
 * does not exist yet is the law of a list with other paths.
 */
import { readdirSync, readFileSync } from "node:fs";
import { posix } from "node:path";
import { PACKAGES, ROOMS, VIEWS } from "./rooms.mjs";
import { without } from "./source.mjs";

const { dirname, join, normalize } = posix;
const SCRIPT = /\.(ts|tsx)$/;
const STARTED = /\.(thread|process)\.ts$/;

/**
 * Returns what a module refers to: `{ specifier, kind }` with the kind `type`, `value`, `dynamic` or `url`. Imports in
 * comments and templates do not count.
 */
export function importsOf(text) {
  const code = without(text, ["comment", "template"]);
  const found = [];
  const add = (pattern, kind) => {
    for (const match of code.matchAll(pattern)) found.push({ specifier: match.at(-1), kind: kind ?? kindOf(match) });
  };
  add(/^[ \t]*(?:import|export)\s+(type\s+(?!from\b))?[\w*{][^"';]*?\bfrom\s*"([^"\n]+)"/gm);
  add(/^[ \t]*import\s*"([^"\n]+)"/gm, "value");
  add(/\bimport\(\s*"([^"\n]+)"/g, "dynamic");
  add(/\bnew URL\(\s*"([^"\n]+)",\s*import\.meta\.url/g, "url");
  add(/\b(?:require|createRequire\(import\.meta\.url\))\(\s*"([^"\n]+)"/g, "dynamic");
  return found;
}

function kindOf(match) {
  return match[1] === undefined ? "value" : "type";
}

/**
 * Returns the files under `src/` of a folder: `{ path, browserSafe, imports }`, each import `{ target, kind }`. A target is
 * the path of a file of the tree, or the name of a package. Modules that are started by URL keep the kind `url`.
 */
export function readTree(root) {
  const paths = readdirSync(join(root, "src"), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name).slice(root.length + (root.endsWith("/") ? 0 : 1)))
    .sort();
  const known = new Set(paths);
  return paths.map((path) => {
    if (!SCRIPT.test(path)) return { path, browserSafe: false, imports: [] };
    const text = readFileSync(join(root, path), "utf8");
    const imports = importsOf(text).flatMap(({ specifier, kind }) => {
      const target = targetOf(path, specifier, kind, known);
      return target === null ? [] : [{ target, kind }];
    });
    return { path, browserSafe: isBrowserSafe(text), imports };
  });
}

/** A header says it in so many words, before the first line of code. */
function isBrowserSafe(text) {
  const header = /^(?:\s*(?:\/\/[^\n]*\n|\/\*[\s\S]*?\*\/))*/.exec(text)?.[0] ?? "";
  return /\bbrowser-safe\b/i.test(header);
}

/** A folder or a file outside `src/` that is named by URL is data, not a module: null. */
function targetOf(path, specifier, kind, known) {
  if (!specifier.startsWith(".") && kind !== "url") return specifier;
  const file = normalize(join(dirname(path), specifier));
  const candidates = [file, file.replace(/\.js$/, ".ts"), file.replace(/\.jsx?$/, ".tsx")];
  return candidates.find((candidate) => known.has(candidate)) ?? (/\.[jt]sx?$/.test(file) ? file : null);
}

/** Returns the files as they would be after a move: `moves` maps old paths to new ones. Files that leave `src/` are left out. */
export function moved(files, moves) {
  const to = (path) => moves.get(path) ?? path;
  return files
    .map((file) => ({
      ...file,
      path: to(file.path),
      imports: file.imports.map((each) => ({ ...each, target: to(each.target) })),
    }))
    .filter((file) => file.path.startsWith("src/"));
}

/** Returns the room and the section of a file, or null. The section is null where the room has none. */
export function roomOf(path) {
  for (const row of ROOMS) {
    for (const at of row.at) {
      const match = patternOf(at).exec(path);
      if (match !== null) return { row, name: row.room, section: match.groups?.section ?? null };
    }
  }
  return null;
}

const patterns = new Map();

function patternOf(at) {
  const known = patterns.get(at);
  if (known !== undefined) return known;
  const body = at
    .replace(/[.]/g, "\\.")
    .replace(/\*/g, "[^/]*")
    .replace(/\{(.*)\}/, (_, names) => `(?<section>${names.replaceAll(",", "|")})`);
  const pattern = new RegExp(`^${body}${at.endsWith("/") ? "" : "$"}`);
  patterns.set(at, pattern);
  return pattern;
}

/** Returns all that breaks the law: `{ from, to, path, target, why }`, with `from` and `to` as the names of rooms or sections. */
export function violations(files) {
  const byPath = new Map(files.map((file) => [file.path, file]));
  const broken = [];
  for (const file of files) {
    const room = roomOf(file.path);
    if (room === null) {
      if (!file.path.endsWith("README.md"))
        broken.push({
          from: "no room",
          to: "",
          path: file.path,
          target: "",
          why: "the table has no room for this file",
        });
      continue;
    }
    for (const { target, kind } of file.imports) {
      const found = breach(file, room, target, kind, byPath);
      if (found !== null) broken.push({ from: nameOf(room), path: file.path, target, ...found });
    }
  }
  return broken;
}

function breach(file, room, target, kind, byPath) {
  if (!target.includes("/") || !/^(src|test|examples|scripts|bench)\//.test(target))
    return outsideBreach(file, room, target, kind);
  const to = roomOf(target);
  if (to === null)
    return { to: target.startsWith("src/") ? "no room" : "outside src", why: "imports what is in no room" };
  if (kind === "url") {
    if (STARTED.test(target)) return null;
    return { to: nameOf(to), why: "a module that is started ends in .thread.ts or .process.ts" };
  }
  if (STARTED.test(target) && kind !== "type")
    return { to: nameOf(to), why: "a thread or process is started, not imported" };
  if (room.row.browser || ((file.browserSafe || file.path === VIEWS) && kind !== "type"))
    return browserBreach(room, to, target, byPath);
  if (room.name === to.name) {
    if (room.row.apart === undefined || room.section === to.section) return null;
    if (room.row.apart.includes(`${room.section} → ${to.section}`)) return null;
    return { to: nameOf(to), why: "sideways" };
  }
  return room.row.may.includes(to.name) ? null : { to: nameOf(to), why: `${room.name} may not import ${to.name}` };
}

function browserBreach(room, to, target, byPath) {
  if (to.row.browser && room.row.browser) return null;
  if (target === VIEWS || byPath.get(target)?.browserSafe) return null;
  return { to: nameOf(to), why: "not browser-safe" };
}

function outsideBreach(file, room, target, kind) {
  if (target.startsWith("node:")) {
    const inBrowser = room.row.browser || file.browserSafe || file.path === VIEWS;
    return inBrowser && kind !== "type" ? { to: "node", why: "not browser-safe" } : null;
  }
  const name = target.split("/", target.startsWith("@") ? 2 : 1).join("/");
  const at = PACKAGES[name];
  if (at === undefined) return { to: name, why: "the table does not name this package" };
  return at.some((folder) => file.path.startsWith(folder))
    ? null
    : { to: name, why: `${name} is imported only in ${at.join(" and ")}` };
}

function nameOf({ name, section }) {
  return section === null ? name : `${name}/${section}`;
}

const BEGIN = "<!-- rooms: written by `npm run docs` from scripts/house/rooms.mjs -->";
const END = "<!-- /rooms -->";

/** Returns ARCHITECTURE.md with the picture of the rooms between its two marks. */
export function withPicture(page) {
  const [begin, end] = [page.indexOf(BEGIN), page.indexOf(END)];
  if (begin < 0 || end < begin) throw new Error(`the page lacks its marks ${BEGIN} and ${END}`);
  return `${page.slice(0, begin)}${BEGIN}\n\n\`\`\`\n${picture()}\n\`\`\`\n\n${page.slice(end)}`;
}

const INDENT = " ".repeat(15);

function picture() {
  return ROOMS.flatMap((row) => {
    const at = row.at.map((each) => each.replace(/\{.*\}\//, "")).join(" ");
    const may = row.browser ? "views.ts and modules marked browser-safe" : row.may.join(" ") || "nothing";
    const lines = [`${row.room.padEnd(14)} ${at.padEnd(46)} ${row.text}`];
    const names = /\{(.*)\}/.exec(row.at.join(" "))?.[1];
    if (names !== undefined) lines.push(`${INDENT}has     ${names.replaceAll(",", " ")}`);
    lines.push(`${INDENT}imports ${may}`);
    if (row.apart !== undefined) lines.push(`${INDENT}${["none imports another", ...row.apart].join(", except ")}`);
    return lines;
  }).join("\n");
}
