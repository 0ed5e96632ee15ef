// Tells the agent of types that say nothing.
import { readFileSync } from "node:fs";
import { relative } from "node:path";

const event = JSON.parse(readFileSync(0, "utf8"));
const { file_path: path = "", content = "", new_string: changed = "" } = event.tool_input ?? {};
if (path.endsWith(".ts") && /:\s*any\b/.test(content + changed)) {
  console.error(`${relative(process.argv[2], path)}: write a type instead of any`);
  process.exit(2);
}
