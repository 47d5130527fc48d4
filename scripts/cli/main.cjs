#!/usr/bin/env node
// Starts the command: the bundle beside this file, with what V8 made of it when it was built, so that it need not be parsed
// again. Another version of Node has no use for that and parses it: slower, and the same.
const { readFileSync } = require("node:fs");
const { join } = require("node:path");
const { Script } = require("node:vm");

const filename = join(__dirname, "command.js");
const source = `(function (exports, require, module, __filename, __dirname) {${readFileSync(filename, "utf8")}\n})`;

function readCache() {
  try {
    return readFileSync(join(__dirname, "command.cache"));
  } catch {
    return undefined;
  }
}

const script = new Script(source, { filename, cachedData: readCache() });
if (process.env.HOLDFAST_MAKE_CACHE) {
  const { writeFileSync } = require("node:fs");
  // At the end the script also has the compiled form of each function that ran; before, only of few.
  process.on("exit", () => writeFileSync(join(__dirname, "command.cache"), script.createCachedData()));
}
script.runInThisContext()(exports, require, module, filename, __dirname);
