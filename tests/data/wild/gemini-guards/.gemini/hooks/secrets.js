// Looks for keys in what is written.
const { tool_input: input } = JSON.parse(require("fs").readFileSync(0, "utf8"));
const text = input.content || input.new_string || "";
const answer = /AKIA[0-9A-Z]{16}|API_KEY=/.test(text)
  ? { decision: "deny", reason: "that is a key", systemMessage: "a key was kept out" }
  : { decision: "allow" };
console.log(JSON.stringify(answer));
