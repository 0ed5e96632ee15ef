"""The statements of a shell script: pipelines, branches, loops and functions, from its steps."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field

from anyhook.shell.parser import Step, UnreadableError, Word, parse_command_line


@dataclass(slots=True)
class Redirection:
    """A redirection."""

    operator: str
    """With a descriptor in front if there is one."""
    target: str
    """The word behind it; the text of a here-document."""


@dataclass(slots=True)
class Element:
    """A part of a pipeline."""

    kind: str
    """`command`, `assignment` (without a command), `branch` (`if` and `case`), `loop`, `group`,
    `subshell`, `function` or `test`."""
    position: int
    words: tuple[Word, ...] = ()
    assignments: tuple[Word, ...] = ()
    name: str = ""
    blocks: list[Block] = field(default_factory=list)
    """The statements inside. A branch has one block for each choice, and an empty one if none may
    be taken; a loop has one."""
    redirections: list[Redirection] = field(default_factory=list)
    substitutions: list[Block] = field(default_factory=list)
    """What its words, assignments and redirections run in substitutions."""


@dataclass(slots=True)
class Pipeline:
    """Elements that are joined with `|`, and the operator behind the last one."""

    elements: list[Element]
    operator: str
    is_negated: bool = False
    """Whether `!` precedes it."""


Block = list[Pipeline]


def parse_script(text: str) -> Block:
    """Parse a script into its statements; what is inside of here-documents is left out.

    Raises:
        UnreadableError: If it is not certain what a shell reads.
    """
    return _read_steps(parse_command_line(text).steps)


def _read_steps(steps: list[Step]) -> Block:
    """Put steps together; a substitution that cannot be put together is left out."""
    outer: list[Step] = []
    substitutions: dict[int, list[Block]] = {}
    inner: list[Step] = []
    depth = 0
    for step in steps:
        depth -= step.kind == "close"
        if depth:
            inner.append(step)
        elif step.kind == "close":
            # Around what dash runs of an arithmetic command, the step has a text.
            is_of_body = bool(outer) and outer[-1].kind == "body"
            if not step.text and not is_of_body:
                with suppress(UnreadableError):
                    substitutions.setdefault(len(outer), []).append(_read_steps(inner))
            inner = []
        elif step.kind != "open":
            outer.append(step)
        depth += step.kind == "open"
    reader = _StepReader(outer, substitutions)
    block = reader.read_block(frozenset())
    if not reader.is_at_end():
        raise UnreadableError
    return block


_PIPES = frozenset({"|", "|&"})
_CLOSERS = frozenset({")", ";;"})
_IGNORED = frozenset({"time"})


class _StepReader:
    """Puts the steps of a parsed text together.

    Args:
        steps: All steps but those inside of substitutions.
        substitutions: What the substitutions in front of a step run, by its index.
    """

    def __init__(self, steps: list[Step], substitutions: dict[int, list[Block]]) -> None:
        self._steps = steps
        self._substitutions = substitutions
        self._pending: list[Block] = []
        """The substitutions that belong to the element that follows."""
        self._index = 0
        self._here_documents: list[Redirection] = []

    def is_at_end(self) -> bool:
        """Return whether all steps were read."""
        return self._index >= len(self._steps)

    def read_block(self, keywords: frozenset[str]) -> Block:
        """Read statements up to one of some keywords, or up to the operator of a closer."""
        block: Block = []
        while not self.is_at_end() and not self._is_keyword(keywords):
            pipeline = self._read_pipeline(keywords)
            if pipeline.elements:
                block.append(pipeline)
            if pipeline.operator in _CLOSERS:
                break
        return block

    def _is_keyword(self, keywords: frozenset[str]) -> bool:
        step = self._steps[self._index]
        return step.kind == "keyword" and step.text in keywords

    def _read_pipeline(self, keywords: frozenset[str]) -> Pipeline:
        elements: list[Element] = []
        assignments: tuple[Word, ...] = ()
        redirections: list[Redirection] = []
        is_negated = False
        while not self.is_at_end() and not self._is_keyword(keywords):
            step = self._next()
            if step.kind == "keyword" and step.text == "!":
                is_negated = not is_negated
            elif step.kind == "body":
                if self._here_documents:
                    self._here_documents.pop(0).target = step.text
            elif step.kind == "redirection":
                redirections.append(self._redirection(step))
            elif step.kind == "assignment":
                assignments += step.words
            elif step.kind == "end":
                if assignments:
                    elements.append(Element("assignment", step.position, assignments=assignments))
                self._finish(elements, redirections)
                assignments, redirections = (), []
                if step.text not in _PIPES:
                    return Pipeline(elements, step.text, is_negated)
            else:
                element = self._read_element(step)
                if element is not None:
                    element.assignments, assignments = assignments, ()
                    elements.append(element)
        self._finish(elements, redirections)
        return Pipeline(elements, "", is_negated)

    def _finish(self, elements: list[Element], redirections: list[Redirection]) -> None:
        """Give the last element the redirections behind it, and the substitutions in them."""
        if elements:
            elements[-1].redirections += redirections
            elements[-1].substitutions += self._take_substitutions()

    def _take_substitutions(self) -> list[Block]:
        substitutions, self._pending = self._pending, []
        return substitutions

    def _redirection(self, step: Step) -> Redirection:
        redirection = Redirection(step.text, step.words[0].text)
        if step.text in {"<<", "<<-"}:
            self._here_documents.append(redirection)
        return redirection

    def _next(self) -> Step:
        if self.is_at_end():
            raise UnreadableError
        self._pending += self._substitutions.get(self._index, [])
        self._index += 1
        return self._steps[self._index - 1]

    def _read_element(self, step: Step) -> Element | None:
        """Read a command or a compound; `None` for a word that precedes a command."""
        substitutions = self._take_substitutions()
        first_word = step.words[0].text if step.words else step.text
        match step.kind, first_word:
            case "command" | "keyword", "for" | "select":
                self._skip_to_do()
                element = self._read_loop(step)
            case "command", _:
                element = Element("command", step.position, step.words)
            case "test", _:
                element = Element("test", step.position)
            case "function", name:
                element = Element("function", step.position, name=name, blocks=[self._read_body()])
            case "keyword", "if":
                element = self._read_if(step)
            case "keyword", "while" | "until":
                condition = self._read_up_to("do")
                element = self._read_loop(step)
                element.blocks[0][:0] = condition
            case "keyword", "{":
                element = Element("group", step.position, blocks=[self._read_up_to("}")])
            case "keyword", "(":
                block = self.read_block(frozenset())
                element = Element("subshell", step.position, blocks=[block])
            case "keyword", "case":
                element = self._read_case(step)
            case "keyword", word if word in _IGNORED or not word.isalpha():
                return None
            case _:
                raise UnreadableError
        element.substitutions += substitutions
        return element

    def _read_up_to(self, *keywords: str) -> Block:
        block = self.read_block(frozenset(keywords))
        self._next()
        return block

    def _skip_to_do(self) -> None:
        step = self._next()
        while step.kind != "keyword" or step.text != "do":
            step = self._next()

    def _read_loop(self, step: Step) -> Element:
        return Element("loop", step.position, blocks=[self._read_up_to("done")])

    def _read_if(self, step: Step) -> Element:
        """Read `if`; the conditions behind `elif` belong to the choices."""
        condition = self._read_up_to("then")
        choices: list[Block] = []
        has_else = False
        while True:
            block = self.read_block(frozenset({"elif", "else", "fi"}))
            choices.append(block)
            keyword = self._next().text
            if keyword == "fi":
                break
            has_else = keyword == "else"
            if keyword == "elif":
                condition += self._read_up_to("then")
        if not has_else:
            choices.append([])
        branch = Element("branch", step.position, blocks=choices)
        # The conditions run first, in the place of the whole.
        first = Pipeline([branch], ";")
        return Element("group", step.position, blocks=[[*condition, first]])

    def _read_case(self, step: Step) -> Element:
        choices: list[Block] = [[]]
        substitutions: list[Block] = []
        while True:
            following = self._next()
            if following.kind == "pattern":
                substitutions += self._take_substitutions()
                choices.append(self.read_block(frozenset({"esac"})))
            elif following.kind == "keyword" and following.text == "esac":
                branch = Element("branch", step.position, blocks=choices)
                branch.substitutions = substitutions
                return branch

    def _read_body(self) -> Block:
        """Read the body of a function: the next compound."""
        while self._steps[self._index : self._index + 1] and (
            self._steps[self._index].kind == "end"
        ):
            self._index += 1
        element = self._read_element(self._next())
        if element is None:
            raise UnreadableError
        while not self.is_at_end() and self._steps[self._index].kind == "redirection":
            element.redirections.append(self._redirection(self._next()))
        return [Pipeline([element], ";")]
