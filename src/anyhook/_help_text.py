"""The help of the program. `make stubs` writes this file."""

COMMANDS = (
    "init",
    "add",
    "remove",
    "list",
    "check",
    "fire",
    "test",
    "trust",
    "enable",
    "disable",
    "shadow",
    "hooks",
    "ui",
    "probe",
    "redteam",
    "score",
    "backtest",
    "history",
    "migrate",
    "agents",
    "allow",
    "run",
    "serve",
    "dispatch",
    "shim",
    "worker",
    "convert",
    "completion",
)
HELP = """\
anyhook COMMAND: hooks of AI coding agents. For more: anyhook COMMAND --help
  init      Choose guards, add them to your agents, and see that they work.
  add       Add guards, or hook files of yours, to the settings of your agents.
  remove    Remove guards and hook files from the settings of your agents.
  list      List the hooks of every agent with their state, health and place.
  check     Check settings and hook scripts for mistakes.
  fire      Fire an event and show what the hooks decide.
  test      Try the examples of a hook file, or a file of cases.
  trust     Review the hooks of a project and allow them to run.
  enable    Switch a hook on, or let a shadow decide.
  disable   Turn a hook off in the file that defines it.
  shadow    Let a hook run without deciding; record what it would decide.
  hooks     Show hooks in a panel; switch, trust, fire and repair them there.
  ui        Show in a browser what hooks decide, live and in past sessions.
  probe     Try your hooks in the installed agents, without network or key.
  redteam   Find what gets past a guard, with proof.
  score     Measure what guards stop, and what they stop by mistake.
  backtest  Show what hooks would have decided on past events.
  history   See, search, count and record what hooks decide in sessions.
  migrate   Move an agent's hooks into another agent's settings.
  agents    List the agents that anyhook knows, and which have hooks here.
  allow     Allow a denied call: exactly this one, once, for ten minutes.
plumbing: anyhook help plumbing
"""
PLUMBING = """\
Commands that agents, plugins and shells run. For more: anyhook COMMAND --help
  run            Run a hook file as an agent does, in a warm worker if possible.
  serve          Answer hooks over HTTP, without a process for each of them.
  dispatch       Answer events on standard input with the hooks of the settings.
  shim           Run a command that was written for another agent.
  worker status  Show the warm workers, their events, and why hooks ran cold.
  worker stop    End the workers of this interpreter.
  worker doctor  Look whether hooks run warm here, and what to do if not.
  worker bench   Measure what your hooks cost.
  convert        Convert payloads of one agent to the form of another agent.
  completion     Print the script with which a shell completes commands.
"""
