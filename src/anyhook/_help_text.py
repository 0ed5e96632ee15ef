"""What `anyhook --help` prints. `make stubs` writes this file."""

COLUMNS = 80
COMMANDS = (
    "init",
    "add",
    "remove",
    "test",
    "score",
    "fire",
    "list",
    "hooks",
    "check",
    "probe",
    "redteam",
    "trust",
    "enable",
    "disable",
    "shadow",
    "promote",
    "allow",
    "ui",
    "history",
    "backtest",
    "replay",
    "report",
    "run",
    "serve",
    "dispatch",
    "worker",
    "record",
    "doctor",
    "bench",
    "migrate",
    "shim",
    "convert-payload",
    "capabilities",
    "schema",
    "completion",
)
HELP = """\

 Usage: anyhook [OPTIONS] COMMAND [ARGS]...

 Run, test and explain the lifecycle hooks of AI coding agents.

╭─ Options ────────────────────────────────────────────────────────────────────╮
│ --version          <bool>  Show the version.                                 │
│ --help     -h      <bool>  Show this message and exit.                       │
╰──────────────────────────────────────────────────────────────────────────────╯
╭─ Write hooks ────────────────────────────────────────────────────────────────╮
│ init             Guard your agents in this project: choose guards, add them, │
│                  see that they work.                                         │
│ add              Add guards that come with anyhook, or hook files of yours,  │
│                  to the settings of your agents.                             │
│ remove           Remove guards and hook files from the settings of your      │
│                  agents.                                                     │
│ test             Try the examples of a hook file, or a file of cases.        │
│ score            Measure what guards stop, and what they stop by mistake.    │
╰──────────────────────────────────────────────────────────────────────────────╯
╭─ Inspect and control hooks ──────────────────────────────────────────────────╮
│ fire             Fire an event and show what the hooks decide. They run for  │
│                  real, like in the agent.                                    │
│ list             List the hooks of every agent with their state, health and  │
│                  place.                                                      │
│ hooks            Show the hooks in a panel, and switch, trust, fire and      │
│                  repair them there.                                          │
│ check            Check settings and hook scripts for mistakes.               │
│ probe            Try your hooks in the agents that are installed, without a  │
│                  network and without a key.                                  │
│ redteam          Find what gets past a guard, with proof.                    │
│ trust            Review the hooks of a project and allow them to run.        │
│ enable           Switch a hook on in all of your settings files.             │
│ disable          Turn a hook off in the file that defines it.                │
│ shadow           Let a hook run without deciding: what it answers is         │
│                  recorded and kept from the agent.                           │
│ promote          Let a shadow decide, after a look at what it would have     │
│                  decided.                                                    │
│ allow            Allow a call that a hook file has denied: exactly this      │
│                  call, once, for ten minutes.                                │
╰──────────────────────────────────────────────────────────────────────────────╯
╭─ Look back ──────────────────────────────────────────────────────────────────╮
│ ui               Show in a browser what hooks decide: live, in the past, and │
│                  what to look at first.                                      │
│ backtest         Show what hooks would have decided on past events, and what │
│                  a change would change.                                      │
│ replay           Decide the events of a session again, and show what is      │
│                  decided differently today.                                  │
│ report           Write a session or a backtest as one file, to send or to    │
│                  attach.                                                     │
│ history          See what hooks decided in past sessions; search, count,     │
│                  import and export them.                                     │
╰──────────────────────────────────────────────────────────────────────────────╯
╭─ Run hooks ──────────────────────────────────────────────────────────────────╮
│ run              Run a hook file as an agent does, in a warm worker if       │
│                  possible.                                                   │
│ serve            Answer hooks over HTTP, without a process for each of them. │
│ dispatch         Answer events on standard input with the hooks of the       │
│                  settings.                                                   │
│ doctor           Look whether hooks run warm here, and say what to do if     │
│                  they do not.                                                │
│ bench            Measure what hooks cost an agent, from their start until    │
│                  they have ended.                                            │
│ worker           See and end the warm workers, which run hook files without  │
│                  starting an interpreter.                                    │
│ record           Record what your agents' hooks see and decide.              │
╰──────────────────────────────────────────────────────────────────────────────╯
╭─ Use several agents ─────────────────────────────────────────────────────────╮
│ migrate          Move an agent's hooks into another agent's settings.        │
│ shim             Run a command that was written for another agent.           │
│ convert-payload  Convert payloads of one agent to the form of another agent. │
│ capabilities     Show what each agent can do on each event.                  │
│ schema           Write the JSON Schema of settings, events or replies.       │
│ completion       Print the script that completes commands, options, agents,  │
│                  events, hooks and sessions.                                 │
╰──────────────────────────────────────────────────────────────────────────────╯
"""
