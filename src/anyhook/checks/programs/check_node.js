// Compile JavaScript without running it.
//
// `node --experimental-vm-modules -e` runs this text. It reads a JSON list of scripts from standard
// input and prints a line of JSON for each: {"line": ..., "problem": ...}. A member of a script:
// `text`, and `type`, which is "module", "commonjs", or "" if the syntax of the script decides.
"use strict";
const { spawnSync } = require("node:child_process");
const fs = require("node:fs");
const vm = require("node:vm");

const NAMES = ["exports", "require", "module", "__filename", "__dirname"];
const [major, minor] = process.versions.node.split(".").map(Number);
// Since these releases Node runs a file whose type is not named as a module if it has its syntax.
const detectsModules = major > 22 || (major === 22 && minor >= 7) || (major === 20 && minor >= 19);

function compileModule(text) {
  new vm.SourceTextModule(text, { identifier: "script" });
}

function compileCommon(text) {
  vm.compileFunction(text, NAMES, { filename: "script" });
}

function problemOf(compile, text) {
  try {
    compile(text);
    return null;
  } catch (error) {
    if (!(error instanceof SyntaxError)) return null;
    const place = /^script:(\d+)/m.exec(String(error.stack));
    return { line: place ? Number(place[1]) : null, problem: error.message };
  }
}

// The error of a module has no line in it; only `node --check` prints one.
function lineInModule(text) {
  const options = ["--input-type=module", "--check", "-"];
  const { stderr } = spawnSync(process.execPath, options, { input: text, encoding: "utf8" });
  const place = /^\[stdin\]:(\d+)/m.exec(stderr);
  return place ? Number(place[1]) : null;
}

function check(script) {
  const text = script.text.replace(/^#!/, "//");
  const common = script.type === "module" ? null : problemOf(compileCommon, text);
  if (script.type === "commonjs" || (script.type === "" && common === null)) return common;
  if (script.type === "" && !detectsModules) return common;
  const module = problemOf(compileModule, text);
  // A script with a mistake is not read as a module unless it imports or exports something.
  const isModule = script.type === "module" || /^\s*(?:import|export)\b/m.test(text);
  if (module === null) return null;
  return isModule ? { ...module, line: lineInModule(text) } : common;
}

for (const script of JSON.parse(fs.readFileSync(0, "utf8"))) {
  fs.writeSync(1, JSON.stringify(check(script) || { line: null, problem: null }) + "\n");
}
