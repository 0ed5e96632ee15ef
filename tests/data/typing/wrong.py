"""What a type checker refuses: the codes of the errors are written at the end of the line."""

from __future__ import annotations

from anyhook import AfterTool, BeforeTool, SessionStart, SyncEngine
from anyhook.authoring import (
    Answer,
    Hooks,
    Shell,
    WriteFile,
    allow,
    ask,
    change_request,
    context,
    defer,
    deny,
    message,
    replace_result,
    respond,
    stop,
)
from anyhook.integrations import LoadOptions
from anyhook.integrations.claude_sdk import anyhook_hooks

hooks = Hooks()


@hooks.befor_tool("shell")  # error: attr-defined untyped-decorator
def misspelt_event(event: BeforeTool) -> None: ...


@hooks.before_toll  # error: attr-defined untyped-decorator
def bare_misspelt_event(event: BeforeTool) -> None: ...


@hooks.before_tool  # error: type-var
def wrong_event(event: AfterTool) -> None: ...


@hooks.session_start("startup")  # error: type-var
def wrong_event_with_a_subject(event: BeforeTool) -> None: ...


@hooks.before_tool("shell")  # error: type-var
def wrong_tool(event: BeforeTool[WriteFile]) -> None: ...


@hooks.before_tool  # error: type-var
def no_answer(event: BeforeTool) -> bool:
    return True


@hooks.before_tool("shell")
def misspelt_argument(event: BeforeTool[Shell]) -> Answer | None:
    if "rm" in event.call.comand:  # error: attr-defined
        return deny("no")
    return None


@hooks.before_tool("shell")
def argument_of_another_tool(event: BeforeTool[Shell]) -> None:
    event.call.file_path.upper()  # error: union-attr


@hooks.after_tool
def misspelt_result(event: AfterTool) -> None:
    str(event.result.exitcode)  # error: attr-defined


@hooks.session_start
def misspelt_field(event: SessionStart) -> None:
    str(event.sauce)  # error: attr-defined


Hooks(on_crash="denied")  # error: arg-type
Hooks(unsupported="allow")  # error: arg-type
hooks.on("before_lunch")  # error: arg-type
hooks.example(tool="shell", input={}, expect="denied")  # error: arg-type
hooks.example("before_lunch", expect="deny")  # error: arg-type

deny("no", contxt="x")  # error: call-arg
deny("no", reason="x")  # error: misc
ask("sure?", context=5)  # error: arg-type
allow(aprove=True)  # error: call-arg
defer(system_message=True)  # error: arg-type
stop("enough", suppress_output="yes")  # error: arg-type
context("x", contxt="y")  # error: call-arg
message("x", outcome="deny")  # error: arg-type
respond("x", tool_outptu="y")  # error: call-arg
replace_result("x", stop="now")  # error: arg-type
change_request(modle="x")  # error: call-arg

options: LoadOptions = {"max_continuation": 2}  # error: typeddict-unknown-key
anyhook_hooks(".", agnet="claude")  # error: call-arg
anyhook_hooks(".", require=1.5)  # error: arg-type
SyncEngine.load(".", agnet="claude")  # error: call-arg
SyncEngine.load(".", require=1.5)  # error: arg-type
