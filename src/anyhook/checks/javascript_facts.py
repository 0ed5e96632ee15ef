"""What a JavaScript prints and how it ends, searched line by line with its texts blanked out."""

from __future__ import annotations

import re

from anyhook.checks.script_facts import ScriptFacts, ScriptOutput, TextBeforeJson
from anyhook.expressions import expression

_TEXTS = expression(
    r"//[^\n]*|/\*.*?(?:\*/|\Z)|\"(?:[^\"\\\n]|\\.)*+\"?|'(?:[^'\\\n]|\\.)*+'?|`(?:[^`\\]|\\.)*+`?",
    re.DOTALL,
)
_EVENTS = expression(
    r"(?P<open>\{)|(?P<close>\})|(?P<end>\breturn\b|\bthrow\b)"
    r"|\bprocess\.exit\(\s*(?P<code>\d{1,3})?"
    r"|(?P<print>\b(?:console\.\w+|process\.std(?:out|err)\.write)\()"
)
_JSON = expression(r"""\s*(?:JSON\.stringify\(|[`'"]\s*\{)""")
_TEXT = expression(r"""\s*[`'"](?!\s*\{)(?!\$\{)(?!(?:\\n)*[`'"])""")
_STDERR = expression(r"console\.(?:error|warn)\(|process\.stderr")
_DECISION = expression(r"""["']?\b(?:decision|permissionDecision|continue)\b\\?["']?\s*[:=]""")


def javascript_facts(text: str) -> ScriptFacts:
    """Collect what a script shows.

    Text counts as printed before JSON if the JSON follows in the same block, or in a block inside
    of it: then it is printed first on every way to the JSON.
    """
    facts = ScriptFacts(text)
    code = _TEXTS.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)
    texts: list[int | None] = [None]
    for event in _EVENTS.finditer(code):
        line = code.count("\n", 0, event.start()) + 1
        if event["open"]:
            texts.append(None)
        elif event["close"]:
            if len(texts) > 1:
                texts.pop()
        elif event["print"]:
            output = _read_output(text, code, event, line)
            facts.add_output(output)
            if output.is_json and not output.is_stderr:
                before = [number for number in texts if number is not None]
                if before:
                    facts.texts_before_json.append(TextBeforeJson(min(before), output))
            elif output.is_text and not output.is_stderr:
                texts[-1] = texts[-1] or line
        else:
            # What was printed in this block is followed by nothing.
            texts[-1] = None
            if event["code"]:
                facts.exit_codes.setdefault(int(event["code"]), line)
    return facts


def _read_output(text: str, code: str, event: re.Match[str], line: int) -> ScriptOutput:
    depth = 1
    end = len(code)
    # Up to the parenthesis that closes the call.
    for match in re.compile(r"[()]").finditer(code, event.end()):
        depth += 1 if match[0] == "(" else -1
        if depth == 0:
            end = match.start()
            break
    printed = text[event.end() : end]
    is_json = _JSON.match(printed) is not None
    return ScriptOutput(
        line=line,
        text=printed,
        is_json=is_json,
        is_text=not is_json and _TEXT.match(printed) is not None,
        is_stderr=_STDERR.match(event["print"]) is not None,
        has_decision=_DECISION.search(printed) is not None,
    )
