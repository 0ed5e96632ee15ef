// Loads plugins as OpenCode does and calls their hooks: `node opencode_host.mjs < scenario.json`.
// A scenario has `plugins` (files), `directory`, `refuses_messages`, and `steps`, each one of
//   {"hook": NAME, "input": …, "output": …}   awaited, like OpenCode does
//   {"event": {"type": …, "properties": …}}   not awaited
//   {"until": N}                              until the client was called N times
// It prints what each step changed, and the calls of the client.
import { readFileSync } from "node:fs"

const scenario = JSON.parse(readFileSync(0, "utf8"))
process.argv[2] = scenario.mode ?? "serve"
const calls = []
const record = (name) => async (options) => {
  calls.push([name, options])
  return name === "reply" && scenario.refuses_messages ? { error: { name: "NotFound" } } : { data: true }
}
const client = {
  tui: { showToast: record("toast") },
  session: { abort: record("abort"), promptAsync: record("prompt") },
  _client: { post: record("reply") },
  postSessionIdPermissionsPermissionId: record("old-reply"),
}
const hooks = []
for (const file of scenario.plugins) {
  const module = await import(file)
  for (const plugin of Object.values(module)) {
    hooks.push(await plugin({ client, directory: scenario.directory, worktree: "/" }))
  }
}

async function run(step) {
  if (step.event) {
    for (const one of hooks) one.event({ event: structuredClone(step.event) })
    return {}
  }
  if (step.until !== undefined) {
    const end = Date.now() + 20_000
    while (calls.length < step.until && Date.now() < end) await new Promise((wake) => setTimeout(wake, 5))
    return {}
  }
  try {
    for (const one of hooks) await one[step.hook]?.(step.input, step.output)
    return { output: step.output }
  } catch (error) {
    return { output: step.output, error: error.message }
  }
}

const results = []
for (const step of scenario.steps) results.push(await run(step))
for (const one of hooks) await one.dispose?.()
process.stdout.write(JSON.stringify({ results, calls }))
process.exit(0)
