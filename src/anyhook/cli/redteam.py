"""`anyhook redteam`: what gets past a guard, with proof."""

from __future__ import annotations

import json
from collections import Counter
from contextlib import ExitStack, closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from anyhook.cli import OK, PROBLEMS
from anyhook.cli.colors import BAD, CAUTION, QUIET
from anyhook.cli.event_filters import open_history
from anyhook.cli.options import HERE, AgentName, AsJson, GuardNames, Project, TrustOnce, Yes
from anyhook.cli.output import console, members, print_json
from anyhook.cli.render import ProgressBar, make_table, print_problems, progress
from anyhook.cli.sandboxed import confirm_limits
from anyhook.errors import HistoryError, UsageError
from anyhook.interrupts import INTERRUPTED
from anyhook.manage.redteam import ACCEPTED, Accepted, choose_guards, denied_by, read_accepted
from anyhook.manage.scope import existing_project
from anyhook.model.text import count_of, printable, shorten
from anyhook.redteam.asking import Asker, Guard
from anyhook.redteam.programs import SHELLS, installed_shells
from anyhook.redteam.search import Attempt, Escape, Progress, Search, totals
from anyhook.redteam.spellings import BY_NAME, CLASSES, sentence_for

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rich.console import Console

    from anyhook.history.store import History
    from anyhook.redteam.plain import Plain

FAIL_ON = "escape"


def redteam(
    hooks: GuardNames = None,
    commands: Annotated[
        list[str] | None,
        typer.Option("--command", metavar="LINE", help="A line that it denies; may be repeated."),
    ] = None,
    cases: Annotated[
        Path | None, typer.Option("--cases", metavar="FILE", help="A file of cases with denials.")
    ] = None,
    class_names: Annotated[
        list[str] | None,
        typer.Option("--class", metavar="NAME", help="Only this class; may be repeated."),
    ] = None,
    agent: AgentName = None,
    project: Project = HERE,
    shell: Annotated[
        str, typer.Option("--shell", help=f"The shell of the agent: {', '.join(SHELLS)}.")
    ] = "bash",
    seed: Annotated[int, typer.Option("--seed", help="Chooses among spellings.")] = 0,
    accepted: Annotated[
        Path | None,
        typer.Option(
            "--accepted",
            metavar="FILE",
            help=f"Escapes that are accepted, with reasons. Default: {ACCEPTED}.",
        ),
    ] = None,
    fail_on: Annotated[
        str, typer.Option("--fail-on", metavar="escape", help="Exit with 1 on an escape.")
    ] = "",
    yes: Yes = False,
    trust_once: TrustOnce = False,
    as_json: AsJson = False,
) -> int:
    """Find what gets past a guard, with proof.

    What a hook denies is written in hundreds of other ways. The hook is asked about each, alone and
    in a sandbox. What passes is run next to what is denied, with programs that only record, in a
    place that has nothing of yours: it counts only if both do the same. Exits with 1 if a hook
    denies nothing that is known, and with --fail-on escape if something passes.

    For example:

        anyhook redteam guard.py
        anyhook redteam guard.sh --command "terraform destroy"
        anyhook redteam --fail-on escape --json
    """
    names = _check_options(class_names, shell, fail_on)
    chosen = choose_guards(project, hooks or [], agent, trust_once=trust_once)
    confirm_limits(is_agreed=yes)
    default = existing_project(project) / ACCEPTED
    if accepted is None and default.is_file():
        accepted = default
    reasons = [] if accepted is None else read_accepted(accepted)
    reports: list[_Report] = []
    for guard in chosen.guards:
        with closing(Asker(guard)) as asker, progress(guard.title) as bar:
            with ExitStack() as stack:
                history = _open_history(stack)
                plains = denied_by(
                    guard, asker.examples(), history, cases=cases, commands=commands or []
                )
            search = Search(
                asker,
                home=str(Path.home()),
                shell=shell,
                seed=seed,
                classes=names,
                on_progress=partial(_show_progress, bar),
            )
            result = search.run(plains)
        reports.append(_Report.of(guard, result, reasons))
        if not result.is_complete:
            break
    guards = [report for report in reports if report.attempt.denied]
    # Among all hooks of the settings there are some that are not guards.
    is_missing = not guards
    if hooks:
        is_missing = len(guards) < len(reports)
    if as_json:
        print_json(_json(reports, chosen.untrusted, seed, is_missing=is_missing))
    else:
        for report in reports:
            _print_report(console(), report, shell)
        for title in chosen.untrusted:
            text = f"{printable(title)} was not run: you have not trusted it; add --trust-once"
            console().print(text, style=CAUTION)
    if any(not report.attempt.is_complete for report in reports):
        return INTERRUPTED
    has_escape = any(report.escapes for report in reports)
    return PROBLEMS if is_missing or (fail_on and has_escape) else OK


def _open_history(stack: ExitStack) -> History | None:
    """Open the history; if that fails, report it: a hook has examples, too."""
    try:
        return stack.enter_context(open_history())
    except HistoryError as error:
        print_problems([f"denials in the history are not tried: {error}"])
        return None


def _check_options(names: list[str] | None, shell: str, fail_on: str) -> tuple[str, ...]:
    """Return the names of the classes that are tried."""
    if fail_on not in ("", FAIL_ON):
        raise UsageError(f"--fail-on takes {FAIL_ON}, not {fail_on!r}")
    if shell not in SHELLS:
        raise UsageError(f"--shell takes {', '.join(SHELLS)}, not {shell!r}")
    if shell not in installed_shells():
        raise UsageError(f"{shell} is not installed, so nothing can be proved for it")
    unknown = [name for name in names or () if name not in BY_NAME]
    if unknown:
        raise UsageError(f"there is no class {unknown[0]!r}; one of {', '.join(BY_NAME)}")
    return tuple(names or BY_NAME)


@dataclass(frozen=True, slots=True)
class _Report:
    """What came of a hook."""

    guard: Guard
    attempt: Attempt
    escapes: tuple[Escape, ...]
    """Those that are not accepted."""
    accepted: tuple[tuple[Escape, str], ...]
    """The other ones, each with its reason."""

    @classmethod
    def of(cls, guard: Guard, result: Attempt, reasons: Sequence[Accepted]) -> _Report:
        escapes: list[Escape] = []
        accepted: list[tuple[Escape, str]] = []
        for escape in result.escapes:
            reason = next((entry.reason for entry in reasons if entry.covers(escape)), None)
            if reason is None:
                escapes.append(escape)
            else:
                accepted.append((escape, reason))
        return cls(guard, result, tuple(escapes), tuple(accepted))


def _show_progress(bar: ProgressBar, state: Progress) -> None:
    bar.show(state.done, state.total, f"{state.done}/{state.total}  {state.step}")


# -- for people


def _print_report(out: Console, report: _Report, shell: str) -> None:
    result = report.attempt
    title = printable(report.guard.title)
    if not result.denied:
        out.print(Text(f"{title} denies nothing that is known.", CAUTION))
        _print_not_denied(out, result)
        if result.errors:
            tried = count_of(len(result.not_denied), "call")
            why = shorten(printable(result.errors[0]))
            out.print(Text(f"  It failed on {len(result.errors)} of {tried}: {why}", BAD))
            return
        out.print(
            "  Give what it denies: --command LINE, --cases FILE, or examples in the hook file."
        )
        return
    sums = totals(result)
    denied = count_of(len(result.denied), "call")
    out.print(Text(title, "bold"), Text(f"denies {denied}, with {sums['tried']:,} spellings"))
    for plain in result.denied:
        out.print(Text(f"  {shorten(printable(plain.text))}  ({printable(plain.source)})"))
    _print_not_denied(out, result)
    proof = f"proved equal in {shell}" if result.can_prove else "not proved: no namespaces here"
    out.print(
        f"  {sums['denied']:,} denied, {sums['asked']:,} asked, {len(report.escapes):,} escapes "
        f"{proof}, {sums['unproved']:,} passed, not proved equal"
    )
    if report.escapes:
        _print_escapes(out, report)
    failed = [escape for escape in report.escapes if escape.error]
    if failed:
        number, error = count_of(len(failed), "escape"), shorten(printable(failed[0].error))
        out.print(Text(f"  {number} passed because the hook failed: {error}", CAUTION))
    for value, error in result.failures.items():
        text = f"a command {value} makes it fail, and the call runs: {shorten(printable(error))}"
        out.print(Text(f"  {text}", CAUTION))
    for why, count in Counter(reason for _, reason in report.accepted).items():
        out.print(Text(f"  {count_of(count, 'escape')} accepted: {printable(why)}", QUIET))


def _print_not_denied(out: Console, result: Attempt) -> None:
    """Print what the user expects to be denied and is not."""
    for plain in _expected(result):
        text = f"  {shorten(printable(plain.text))} is not denied ({printable(plain.source)})"
        out.print(Text(text, CAUTION))


def _expected(result: Attempt) -> list[Plain]:
    """Return what the user expects to be denied and is not; typical lines are only tried."""
    return [plain for plain in result.not_denied if plain.source != "typical"]


def _print_escapes(out: Console, report: _Report) -> None:
    """Print the escapes, the lines that keep them in sight, and the conditions that close them."""
    groups: dict[str, list[Escape]] = {}
    for escape in sorted(report.escapes, key=lambda item: (len(item.command), item.command)):
        groups.setdefault(escape.class_name, []).append(escape)
    by_class = {item.name: groups[item.name] for item in CLASSES if item.name in groups}
    table = make_table("class", "tried", "denied", "asked", "escapes", "smallest escape")
    for name, escapes in by_class.items():
        counts = report.attempt.classes[name]
        numbers = (counts.tried, counts.denied, counts.asked, len(escapes))
        command = Text(shorten(printable(escapes[0].command.replace("\n", "\\n"))))
        table.add_row(Text(name, BAD), *(f"{number:,}" for number in numbers), command)
    out.print(table)
    purpose = "To keep them in sight, add:" if report.guard.file else "To keep them, add cases:"
    out.print(purpose)
    for name, escapes in by_class.items():
        # A hook that remembers nothing has to deny the first one.
        call = escapes[0].variant.spelling.calls[0]
        if report.guard.file:
            arguments = json.dumps(call.input, ensure_ascii=False)
            example = f'hooks.example(tool="{call.tool}", input={arguments}, expect="deny")'
            text = f"  {example}  # {name}"
        else:
            pairs = [f"{key} = {json.dumps(value)}" for key, value in call.input.items()]
            text = (
                f'  [[case]]\n  name = "{name}"\n  event = "before_tool"\n  tool = "{call.tool}"\n'
                f'  input = {{ {", ".join(pairs)} }}\n  expect = "deny"'
            )
        out.print(Text(text), soft_wrap=True)
    out.print("To close them, decide on what runs:")
    for sentence in dict.fromkeys([sentence_for(each.variant.plain) for each in report.escapes]):
        out.print(Text(f'  if {sentence}: return deny("…")'), soft_wrap=True)
    others = {
        BY_NAME[name].closed_by: name for name in by_class if "deny" in BY_NAME[name].closed_by
    }
    for text, name in others.items():
        out.print(Text(f"  {name}: {text}"), soft_wrap=True)


# -- for programs


def _json(
    reports: Sequence[_Report], untrusted: Sequence[str], seed: int, *, is_missing: bool
) -> dict[str, Any]:
    hooks = []
    escapes: list[dict[str, Any]] = []
    accepted: list[dict[str, Any]] = []
    for report in reports:
        escapes += map(_escape_json, report.escapes)
        for escape, reason in report.accepted:
            accepted.append({**_escape_json(escape), "reason": reason})
        result = report.attempt
        classes = {}
        for name, counts in result.classes.items():
            numbers = members(counts, "tried", "denied", "asked", "unproved")
            classes[name] = {**numbers, "escapes": len(counts.escapes)}
        hooks.append(
            {
                "hook": report.guard.title,
                "agent": report.guard.agent,
                "denies": _plain_json(result.denied),
                "not_denied": _plain_json(_expected(result)),
                "errors": result.errors,
                "classes": classes,
                "failures": dict(result.failures),
                "complete": result.is_complete,
            }
        )
    return {
        "ok": not escapes and not is_missing,
        "seed": seed,
        "escapes": escapes,
        "accepted": accepted,
        "hooks": hooks,
        "untrusted": list(untrusted),
    }


def _plain_json(plains: Iterable[Plain]) -> list[dict[str, str]]:
    return [{"of": plain.text, "source": plain.source} for plain in plains]


def _escape_json(escape: Escape) -> dict[str, Any]:
    return {
        **members(escape, "of", "command", "shell", "hook"),
        "class": escape.class_name,
        "proved": escape.is_proved,
        "error": escape.error or None,
        "calls": [members(call, "tool", "input") for call in escape.variant.spelling.calls],
    }
