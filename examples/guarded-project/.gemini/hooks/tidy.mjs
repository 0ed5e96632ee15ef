#!/usr/bin/env node
// Rewrites what a tool is about to write: no trailing blanks, one newline at the end.
import { readFileSync } from 'node:fs';

const { tool_input: input } = JSON.parse(readFileSync(0, 'utf8'));
const key = 'content' in input ? 'content' : 'new_string';
const before = input[key] ?? '';
const after = before.replace(/[ \t]+$/gm, '').replace(/\n*$/, '\n');
if (after !== before) {
  console.log(JSON.stringify({ hookSpecificOutput: { tool_input: { [key]: after } } }));
}
