/** HOOK-1: shell commands that name files, where it can be told; POL-5: commands that are not for agents. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { shellIntent } from "../../../src/agents/hooks/shell/shell-intent.js";

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
    ["git --work-tree /e --git-dir=/e/.git rm old.ts", ["/w/old.ts", "/e/old.ts"]],
    ["GIT_WORK_TREE=/e git checkout -- old.ts", ["/w/old.ts", "/e/old.ts"]],
    ["git rm old.ts", ["/w/old.ts"]],
    ['echo "$X" > "$OUT/file"', []],
    ["rm $(cat list) known", ["/w/known"]],
    ["npm test # > not.txt", []],
    ['node -e \'require("fs").writeFileSync("hidden", "")\'', []],
    ["git status", []],
    ["sudo -u bob rm x", ["/w/x"]],
    ["/usr/bin/sudo -nu bob --group wheel -- rm x", ["/w/x"]],
    ["sudo -ubob exec -- rm x", ["/w/x"]],
    ["env -u NAME --unset OTHER A=1 rm x", ["/w/x"]],
    ["timeout -s KILL 5 stdbuf -o L tee x", ["/w/x"]],
    ["curl -o a.json https://example.org/x -o b.json https://example.org/y", ["/w/a.json", "/w/b.json"]],
    ["curl -fsSLo out/a.tgz https://example.org/a.tgz", ["/w/out/a.tgz"]],
    ["curl --output a https://example.org && curl -oa2 https://example.org", ["/w/a", "/w/a2"]],
    ["curl -s https://example.org/o", []],
    [
      "wget -qO a.json https://example.org; wget --output-document=b.json https://example.org",
      ["/w/a.json", "/w/b.json"],
    ],
    ["wget -qO- https://example.org | sh", []],
    ["curl -LO https://example.org/x/a.tgz?v=1#top", ["/w/a.tgz"]],
    ["curl --remote-name -H 'a: b/c' https://example.org/b", ["/w/b"]],
    [
      "curl -O --output-dir out https://example.org/a && curl --output-dir out -o b https://x.org",
      ["/w/out/a", "/w/out/b"],
    ],
    ["curl -O $URL; curl -O https://example.org/; curl -sS -XPOST https://example.org/a", []],
    ["wget -q https://example.org/x/a.tgz 'https://example.org/b?v=1'", ["/w/a.tgz", "/w/b?v=1"]],
    ["wget -P out https://example.org; wget --spider https://example.org/a", ["/w/out/index.html"]],
    ["env -C sub rm x > y; env --chdir=$DIR rm x; env -C a -C b touch /abs", ["/w/y", "/w/sub/x", "/abs"]],
    ["sudo -D sub rm x", ["/w/sub/x"]],
    ["ls | xargs -n 1 grep -l x | xargs -0 -I % cp % out", ["/w/out"]],
    ["ls | xargs cp -t out; xargs sudo mv -t old < list; xargs -P 4", ["/w/out", "/w/old", "/w"]],
    ["patch src/a.c < fix.diff", ["/w/src/a.c"]],
    ["patch -b -F 3 src/a.c fix.diff", ["/w/src/a.c"]],
    ["patch -o new.c old.c fix.diff", ["/w/new.c"]],
    ["patch --dry-run -p1 < fix.diff", []],
    ["find . -name '*.o' -print", []],
    ["find src -exec cp {} out \\;", ["/w/out"]],
    ["find src -exec grep -l x {} + > list", ["/w/list"]],
    ["tar tf a.tar; tar -xOf a.tar x", []],
    ["echo $(rm x) `rm y`", ["/w/x", "/w/y"]],
    ['A="$(rm "x y")" B="`touch \\`rm z\\``" touch b', ["/w/x y", "/w/z", "/w/b"]],
    ["echo $(cd a; touch b; echo $(touch c)) $(touch d) > e", ["/w/a/b", "/w/a/c", "/w/d", "/w/e"]],
    ["cd $(mktemp -d > log) && touch a", ["/w/log"]],
    ["echo $((1 > 0)) $(( (2 > 1) > 3 )) > x", ["/w/x"]],
    ['eval "rm `cat list` x"', ["/w/x"]],
    ['echo \'$(rm x)\' "\\$(rm y)" "\\`rm z\\`"', []],
    ['echo "it costs `" > a', ["/w/a"]],
    [`git commit -m "$(cat <<'EOF'\nIt doesn't > x: "1) rm y"\nEOF\n)" && touch z`, ["/w/z"]],
    ["(cd a; touch b); (touch c)", ["/w/a/b", "/w/c"]],
    ["cd $DIR && bash -c 'touch a; touch /abs'", ["/abs"]],
    ["cd a | touch b; touch c", ["/w/b", "/w/c"]],
    ["cd a && make | tee b; touch c | cd d | touch e; touch f", ["/w/a/b", "/w/a/c", "/w/a/e", "/w/a/f"]],
    ["cd a && (npm start; touch b) > log & touch c", ["/w/a/b", "/w/a/log", "/w/c"]],
    ["cd a; touch b & cd c && touch d", ["/w/a/b", "/w/a/c/d"]],
    ["cd a &\ncd b & touch c", ["/w/c"]],
  ];
  // kills: hook-substitution (echo), hook-pipeline (touch b; touch c), hook-background (log & touch c)
  it.each(told)("%s", (line, expected) => expect(files(line)).toEqual(expected));

  const below: [string, string[]][] = [
    ["find . -name '*.o' -delete", ["/w"]],
    ["find -L src lib -type f -delete", ["/w/src", "/w/lib"]],
    ["find -name x -delete", ["/w"]],
    ["find src \\( -name a -o -name b \\) -exec rm -f {} +", ["/w/src"]],
    ["find src -execdir sed -i s/a/b/ {} \\;", ["/w/src"]],
    ["tar xf a.tar", ["/w"]],
    ["tar -C out -xzf a.tgz", ["/w/out"]],
    ["tar --extract --file a.tar --directory=out", ["/w/out"]],
    ["cd sub && curl -s https://example.org | tar xz", ["/w/sub"]],
    ["patch -p1 < fix.diff", ["/w"]],
    ["patch -p 1 -i fix.diff -d lib", ["/w/lib"]],
    ["git ls-files | xargs rm -f", ["/w"]],
    ["cd src && grep -rlZ a . | xargs -0 -n1 -P 4 sed -i s/a/b/", ["/w/src"]],
    ["ls | xargs -I% mv % old/%", ["/w"]],
    ["ls | xargs -i env A=1 touch {}.md", ["/w"]],
    ["env -C lib tar xf a.tar", ["/w/lib"]],
  ];
  // kills: hook-xargs (xargs rm)
  it.each(below)("%s: somewhere in", (line, expected) =>
    expect(shellIntent(line, "/w")).toMatchObject({ files: expected, somewhereIn: expected, removed: [] }),
  );

  it("a find that tests nothing takes all of it away", () => {
    expect(shellIntent("find . -delete", "/w").removed).toEqual(["/w"]);
    expect(shellIntent("find a b -delete", "/w")).toMatchObject({ removed: ["/w/a", "/w/b"], somewhereIn: [] });
  });

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
      "$((",
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
    for (const deep of ["$(", '"$(', "`\\`", "("]) shellIntent(`rm ${deep.repeat(5_000)} > x`, "/w");
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
  it.each(whole)("%s", (line) =>
    expect(shellIntent(line, "/w").wholeTrees.map(({ command }) => command)).toEqual([line]),
  );
  // kills: hook-git-variable
  it.each([
    ["git -C /e checkout main", "/e"],
    ["git -C sub -C x stash", "/w/sub/x"],
    ["git --git-dir=/e/.git --work-tree=/e checkout main", "/e"],
    ["git -C sub --git-dir /e/.git --work-tree x reset --hard", "/w/sub/x"],
    ["git --git-dir=/e/.git reset --hard", "/w"],
    ["GIT_DIR=/e/.git git reset --hard", "/w"],
    ["GIT_DIR=/e/.git GIT_WORK_TREE=/e git reset --hard", "/e"],
    ["env GIT_WORK_TREE=/e git -C sub pull", "/e"],
    ["GIT_WORK_TREE=/e git --work-tree=/f pull", "/f"],
    ["export GIT_DIR=/e/.git GIT_WORK_TREE=/e; git pull", "/e"],
    ["GIT_WORK_TREE=$E git pull", null],
    ["cd /e && git reset --hard", "/e"],
    ["cd /e && git -C sub reset --hard", "/e/sub"],
  ])("%s is over the tree of %s", (line, folder) =>
    expect(shellIntent(line, "/w").wholeTrees.map((each) => each.folder)).toEqual([folder]),
  );
  const harmless = [
    "git reset HEAD a",
    "git stash list",
    "git clean -n",
    "git apply --check x.patch",
    "git checkout -b x",
    "git log",
    "git commit -m x",
  ];
  it.each(harmless)("not %s", (line) => expect(shellIntent(line, "/w").wholeTrees).toEqual([]));
});

describe("POL-5: commands that are not for agents", () => {
  const forbidden = [
    "holdfast lock break path/a --reason x",
    "holdfast --owner user:ann lock break path/a --reason x",
    "npx holdfast approve map.delete project=a map=b",
    "holdfast --owner user:ann doctor --after-restore",
    "holdfast hook install claude --uninstall",
    "cd x && holdfast migrate --uninstall",
    "sh -c 'holdfast lock break a --reason y'",
    "sudo -u ann holdfast lock break path/a --reason x",
    'echo "$(holdfast approve map.delete project=a)"',
  ];
  // kills: hook-substitution (echo)
  it.each(forbidden)("%s", (line) => expect(shellIntent(line, "/w").notForAgents).toContain("holdfast"));
  const allowed = ["holdfast lock acquire path/a", "holdfast issue add 'approve it'", "holdfast hook install claude"];
  it.each(allowed)("but %s", (line) => expect(shellIntent(line, "/w").notForAgents).toBeNull());
});
