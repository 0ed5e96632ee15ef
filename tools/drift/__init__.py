"""What a new release of an agent does differently from the release that the tables describe.

`make drift` installs the newest release of each agent, reads its events, payloads and replies out
of the program where it holds them in a readable form (`surface`), compares them with those of the
release that was observed (`surfaces/AGENT.json`) and with the tables (`compare`), and runs the
tests with the real agents (`runs`).
"""
