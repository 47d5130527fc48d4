/** HOOK-1: shell commands that name files, where it can be told; POL-5: commands that are not for agents. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { shellIntent } from "../../src/hooks/shell/shell-intent.js";

const files = (line: string, cwd = "/w"): readonly string[] => shellIntent(line, cwd).files;

describe("HOOK-1: files in shell commands", () => {
  const told: [string, string[]][] = [
    ["echo x > a.txt", ["/w/a.txt"]],
    ["echo x >>a.txt 2>&1", ["/w/a.txt"]],
    ["make 2> err.log 1>out.log", ["/w/err.log", "/w/out.log"]],
    ["make &> all.log", ["/w/all.log"]],
    ["make >& all.log && make >&2", ["/w/all.log"]],
    ["cat < in.txt >| out.txt", ["/w/out.txt"]],
    ["cat <<EOF > 'my file.md'\nrm -rf /w/src > b\nEOF\ntouch c", ["/w/my file.md", "/w/c"]],
    ["cat <<-'END' | tee -a log.txt\n\tx > y\n\tEND", ["/w/log.txt"]],
    ["grep -q x y > /dev/null", []],
    ["ls; rm -rf build dist", ["/w/build", "/w/dist"]],
    ["mv a.ts src/b.ts", ["/w/a.ts", "/w/src/b.ts"]],
    ["mv --target-directory=out a", ["/w/a", "/w/out"]],
    ["cp -r a b/c", ["/w/b/c"]],
    ["cp -t out a b", ["/w/out"]],
    ["ln -s ../x link", ["/w/link"]],
    ["sed -i 's/a/b/g' one.ts two.ts", ["/w/one.ts", "/w/two.ts"]],
    ["sed -i.bak -e 's/a/b/' one.ts", ["/w/one.ts"]],
    ["sed -n 's/a/b/p' one.ts", []],
    ["perl -pi -e 's/a/b/' one.ts", ["/w/one.ts"]],
    ["dd if=/dev/zero of=disk.img bs=1M", ["/w/disk.img"]],
    ["truncate -s 0 log", ["/w/log"]],
    ["cd src && touch a && cd .. && touch b", ["/w/src/a", "/w/b"]],
    ["cd $DIR && touch a; touch /abs", ["/abs"]],
    ["pushd src; touch a; popd; touch b; popd; touch c", ["/w/src/a", "/w/b"]],
    ["sudo env A=1 rm x", ["/w/x"]],
    ["timeout -k 5 1.5m nice -n 5 rm x", ["/w/x"]],
    ["A=1 tee x < y", ["/w/x"]],
    ['bash -lc "echo hi > inner.txt"', ["/w/inner.txt"]],
    ["if true; then rm x; fi", ["/w/x"]],
    ["if ! rm x; then while touch y; do :; done; fi", ["/w/x", "/w/y"]],
    ["(cd sub; echo x > y); touch z", ["/w/sub/y", "/w/z"]],
    ["git checkout -- src/a.ts", ["/w/src/a.ts"]],
    ["git restore --source HEAD~1 a.ts", ["/w/a.ts"]],
    ["git restore --staged a.ts", []],
    ["git -C a -c x=y -C b rm old.ts /abs", ["/w/a/b/old.ts", "/abs"]],
    ["git -C $DIR checkout -- old.ts", []],
    ["git rm old.ts", ["/w/old.ts"]],
    ['echo "$X" > "$OUT/file"', []],
    ["rm $(cat list) known", ["/w/known"]],
    ["npm test # > not.txt", []],
    ['node -e \'require("fs").writeFileSync("hidden", "")\'', []],
    ["git status", []],
  ];
  it.each(told)("%s", (line, expected) => expect(files(line)).toEqual(expected));

  it("expands a pattern in the last part, and is coarse about one further up", () => {
    const dir = mkdtempSync(join(tmpdir(), "holdfast-shell-"));
    try {
      for (const name of ["a.ts", "b.ts", "c.md", ".env.ts"]) writeFileSync(join(dir, name), "");
      expect([...files("rm *.ts", dir)].sort()).toEqual([join(dir, "a.ts"), join(dir, "b.ts")]);
      expect(files("rm .*.ts", dir)).toEqual([join(dir, ".env.ts")]);
      expect(files("rm src/*/x.ts", dir)).toEqual([join(dir, "src")]);
      expect(files("rm '*.ts'", dir)).toEqual([join(dir, "*.ts")]);
    } finally {
      rmSync(dir, { recursive: true, force: true });
    }
  });

  it("never throws and always ends, whatever the line", () => {
    const piece = fc.constantFrom(
      "'",
      '"',
      "\\",
      "$(",
      ")",
      "`",
      "<<E",
      "\n",
      ">",
      "&",
      "|",
      ";",
      " rm ",
      "a",
      "{",
      "#",
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 30 }), (pieces) => void shellIntent(pieces.join(""), "/w")),
      { seed: 1 },
    );
  });
});

describe("HOOK-1: commands over the whole tree", () => {
  const whole = [
    "git reset --hard",
    "git -C sub stash",
    "git clean -fdx",
    "git checkout main",
    "git checkout .",
    "git pull",
    "git apply -3 x.patch",
  ];
  it.each(whole)("%s", (line) => expect(shellIntent(line, "/w").wholeTree).toBe(line));
  const harmless = [
    "git reset HEAD a",
    "git stash list",
    "git clean -n",
    "git apply --check x.patch",
    "git checkout -b x",
    "git log",
    "git commit -m x",
  ];
  it.each(harmless)("not %s", (line) => expect(shellIntent(line, "/w").wholeTree).toBeNull());
});

describe("POL-5: commands that are not for agents", () => {
  const forbidden = [
    "holdfast lock break path/a --reason x",
    "holdfast --owner user:ann lock break path/a --reason x",
    "npx holdfast approve map.delete project=a map=b",
    "holdfast hook install claude --uninstall",
    "cd x && holdfast migrate --uninstall",
    "sh -c 'holdfast lock break a --reason y'",
  ];
  it.each(forbidden)("%s", (line) => expect(shellIntent(line, "/w").notForAgents).toContain("holdfast"));
  const allowed = ["holdfast lock acquire path/a", "holdfast issue add 'approve it'", "holdfast hook install claude"];
  it.each(allowed)("but %s", (line) => expect(shellIntent(line, "/w").notForAgents).toBeNull());
});
