"""Tools and their arguments by names that do not depend on the agent.

It is one module because a cold hook loads all of it, and each further module costs 0.1 ms.
"""

from __future__ import annotations

from functools import cached_property

from anyhook.model.record import EMPTY, Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from anyhook.model.arguments import Arguments
else:
    Arguments = object

TOOLS: dict[str, tuple[str, ...]] = {
    "shell": tuple(
        "command description directory background timeout dangerouslyDisableSandbox".split()
    ),
    "read_file": ("file_path", "offset", "limit", "pages"),
    "read_many_files": ("include", "exclude"),
    "write_file": ("file_path", "content"),
    "edit_file": ("file_path", "old_string", "new_string", "replace_all"),
    "edit_notebook": ("notebook_path", "cell_id", "new_source", "cell_type", "edit_mode"),
    "list_directory": ("path",),
    "glob": ("pattern", "path"),
    "grep": tuple(
        "pattern path glob type output_mode ignore_case only_matching line_numbers "
        "lines_before lines_after lines_around context head_limit offset multiline".split()
    ),
    "web_fetch": ("url", "prompt", "offset"),
    "web_search": ("query", "allowed_domains", "blocked_domains"),
    "agent": ("prompt", "description", "agent_type", "model", "background", "isolation", "name"),
    "ask_user": ("questions", "answers"),
    "write_todos": ("todos",),
    "save_memory": ("fact",),
    "skill": ("name", "args"),
    "enter_plan_mode": (),
    "exit_plan_mode": ("plan",),
}
"""Canonical tool to its canonical arguments. Their types are in `tools/stubs.py`.

An argument that only one agent has keeps the name of that agent.
"""

REQUIRED = {
    "shell": ("command",),
    "read_file": ("file_path",),
    "write_file": ("file_path", "content"),
    "edit_file": ("file_path", "old_string", "new_string"),
    "edit_notebook": ("notebook_path", "new_source"),
    "glob": ("pattern",),
    "grep": ("pattern",),
    "web_search": ("query",),
}
"""Canonical tool to the texts without which no agent carries out a call."""

PATHS = frozenset({"file_path", "notebook_path", "path", "directory"})
"""Canonical arguments whose value is a path."""

MCP_PREFIX = "mcp__"
"""Prefix of the canonical name of an MCP tool, `mcp__SERVER__TOOL`."""


ANY_SERVER = f"{MCP_PREFIX}__"
"""Prefix of the canonical name of an MCP tool whose server the agent does not name."""


class Tool(Record, kw_only=False):
    """The names that an agent has for one tool of the vocabulary and its arguments.

    Attributes:
        names: The agent's names of the tool, the current one first, then those of older releases.
        keys: Canonical argument to the agent's, where they differ.
        items: Canonical argument whose value is a list of objects to the keys of these objects,
            where they differ.
        without: Canonical arguments that the agent's tool does not have.
        patch: The argument in which the last of the names takes a patch with all changes
            (`anyhook.agents.patches`); empty if none of them takes one.
        only_patches: Whether the agent changes files by patches alone.
    """

    names: tuple[str, ...]
    keys: Mapping[str, str] = EMPTY
    items: Mapping[str, Mapping[str, str]] = EMPTY
    without: frozenset[str] = frozenset()
    patch: str = ""
    only_patches: bool = False


RAW = "raw"
"""The form of results that are kept as they are."""


class Vocabulary(Record):
    """An agent's names of tools and arguments, and the form of their results.

    Attributes:
        agent: Name of the agent.
        tools: Canonical tool to the agent's names.
        mcp_name: Template of the name of an MCP tool, with `{server}` and `{tool}`.
        tool_result_form: `module:NAME` of the `ToolResultForm` of the agent; `raw` if results are
            kept as they are.
    """

    agent: str
    tools: Mapping[str, Tool]
    mcp_name: str
    tool_result_form: str = RAW

    def __repr__(self) -> str:
        return f"<vocabulary of {self.agent}>"

    @cached_property
    def canonical(self) -> Mapping[str, str]:
        """The agent's tool names, also those of older releases, to the canonical ones."""
        return {name: tool for tool, row in self.tools.items() for name in row.names}

    def synonyms(self, name: str, arguments: Mapping[str, Any] | None = None) -> list[str]:
        """Return the canonical names of all tools that one of the agent's names stands for.

        A name may stand for a tool that takes patches and for one that does not: `Edit` of Copilot.
        With the arguments of a call, the tools that only a patch stands for count if it has one.
        """
        tools = [tool for tool, row in self.tools.items() if name in row.names]
        own = self.tools[self.canonical[name]] if tools else None
        if own is None or arguments is None or own.only_patches or own.patch in arguments:
            return tools
        is_plain_tool = bool(own.patch) and name == own.names[0]
        return [self.canonical[name]] if is_plain_tool else tools

    @cached_property
    def required(self) -> Mapping[str, tuple[str, ...]]:
        """The agent's current name of a tool to the texts that a call needs, by its names."""
        required: dict[str, tuple[str, ...]] = {}
        for tool, arguments in REQUIRED.items():
            row = self.tools.get(tool)
            if row is not None:
                own = tuple(row.keys.get(argument, argument) for argument in arguments)
                required[row.names[0]] = (row.patch,) if row.only_patches else own
        return required

    def name(self, tool: str) -> str | None:
        """Return the agent's name of a canonical tool; `None` if it has no such tool."""
        if not tool.startswith(MCP_PREFIX):
            return self.tools[tool].names[0] if tool in self.tools else None
        server, separator, inner = tool.removeprefix(MCP_PREFIX).partition("__")
        return self.mcp_name.format(server=server, tool=inner) if separator else None

    def name_patterns(self, pattern: str) -> list[str]:
        """Return a pattern of MCP tools by the agent's names; it stays as it is for other tools.

        Only `*` is special. In `mcp__*` it stands for the end of the server's name, too.
        """
        if not pattern.startswith(MCP_PREFIX) or self.mcp_name.startswith(MCP_PREFIX):
            return [pattern]
        name = self.name(pattern)
        if name is not None:
            return [name]
        rest = pattern.removeprefix(MCP_PREFIX)
        stars = [index for index, character in enumerate(rest) if character == "*"]
        names = [self.mcp_name.format(server=rest[: i + 1], tool=rest[i:]) for i in stars]
        return names or [pattern]

    def tool_names(self, subject: str) -> list[str]:
        """Return the agent's names of the tools that the subject of a function stands for.

        The subject is a name or a pattern; so may be the names, for tools of MCP servers.
        """
        from anyhook.model.globs import matches_glob

        names: list[str] = []
        for canonical, tool in self.tools.items():
            if matches_glob(subject, canonical):
                names.extend(tool.names)
        # A pattern may also match tools of extensions, and an unknown name may be one of them.
        is_pattern = "*" in subject and subject not in self.tools
        if not names or is_pattern:
            names += self.name_patterns(subject)
        return names

    def mcp_names(self, name: str) -> list[str]:
        """Return the canonical names that the agent's name of an MCP tool may stand for.

        A server's name may hold the separator: `a-b-c` is a tool of `a` or of `a-b`. Where names of
        MCP tools have no prefix, every name with a separator may be one, except those of the
        agent's own tools.
        """
        if name in self.canonical or name.startswith(MCP_PREFIX):
            return []
        prefix, has_server, rest = self.mcp_name.partition("{server}")
        if not has_server:
            prefix = prefix.partition("{tool}")[0]
            return [f"{ANY_SERVER}{name.removeprefix(prefix)}"] if name.startswith(prefix) else []
        if not name.startswith(prefix):
            return []
        separator = rest.partition("{tool}")[0]
        text = name.removeprefix(prefix)
        names: list[str] = []
        end = text.find(separator, 1)
        while end > 0:
            tool = text[end + len(separator) :]
            if tool:
                names.append(f"{MCP_PREFIX}{text[:end]}__{tool}")
            end = text.find(separator, end + 1)
        return names

    def tool(self, name: str, mcp: Mapping[str, Any] | None = None) -> str:
        """Return the canonical name of an agent's tool; its own name if it has none.

        `mcp` is the server of an MCP tool (`server_name`, `tool_name`), where the agent sends it:
        names like `mcp_a_b_c` do not say where the name of the server ends. Without it, that is
        guessed to be the first separator.
        """
        if name in self.canonical:
            return self.canonical[name]
        mcp = mcp or {}
        server, inner = mcp.get("server_name"), mcp.get("tool_name")
        if isinstance(server, str) and isinstance(inner, str):
            return f"{MCP_PREFIX}{server}__{inner}"
        names = self.mcp_names(name)
        return names[0] if names else name

    def all_names(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        mcp: Mapping[str, Any] | None = None,
    ) -> list[str]:
        """Return all names by which a pattern may mean a tool: the agent's and the canonical ones.

        For `arguments` and `mcp` see `synonyms` and `tool`.
        """
        possible = [] if mcp else self.mcp_names(name)
        return [name, self.tool(name, mcp), *self.synonyms(name, arguments), *possible]

    def call(
        self, name: str, arguments: Mapping[str, Any], mcp: Mapping[str, Any] | None = None
    ) -> ToolCall:
        """Return a call of an agent's tool by canonical names.

        For `mcp` see `tool`.
        """
        tool = self.tool(name, mcp)
        call_class = CALLS.get(tool, ToolCall)
        row = self.tools.get(tool)
        if row is None:
            return call_class(tool=tool, arguments=dict(arguments))
        own_names = _invert(row.keys)
        canonical = {own_names.get(key, key): value for key, value in arguments.items()}
        for key, item_keys in row.items.items():
            if key in canonical:
                canonical[key] = _rename_keys(canonical[key], _invert(item_keys))
        return call_class(tool=tool, arguments=canonical, own_names=own_names)

    def read_result(self, call: ToolCall, response: Any, error: str | None = None) -> ToolResult:
        """Return the result of a call that the agent has sent.

        The error is its text, if the agent sent it separately.
        """
        if self.tool_result_form == RAW:
            return read_result(response, error)
        module, _, name = self.tool_result_form.partition(":")
        form: Any = getattr(__import__(module, fromlist=[name]), name)
        result: ToolResult = form.read(call, response, error)
        return result

    def arguments(self, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return arguments of a canonical tool by the agent's names."""
        row = self.tools.get(tool)
        if row is None:
            return dict(arguments)
        renamed: dict[str, Any] = {}
        for key, value in arguments.items():
            item_keys = row.items.get(key)
            renamed[row.keys.get(key, key)] = (
                value if item_keys is None else _rename_keys(value, item_keys)
            )
        return renamed


def _invert(names: Mapping[str, str]) -> dict[str, str]:
    return {value: key for key, value in names.items()}


def _rename_keys(items: Any, names: Mapping[str, str]) -> Any:
    """Rename the keys of all objects in a list; return any other value as it is."""
    if not isinstance(items, list):
        return items
    renamed: list[Any] = []
    for item in items:
        if isinstance(item, dict):
            item = {names.get(key, key): value for key, value in item.items()}  # noqa: PLW2901
        renamed.append(item)
    return renamed


class ToolCall(Record, Arguments):
    """A tool call by canonical names. Arguments can be read as attributes: `call.command`.

    Attributes:
        tool: Canonical name; of a tool outside the vocabulary, the agent's name.
        arguments: Arguments by canonical names; those that have none keep the agent's.
        own_names: The agent's names of arguments to the canonical ones.
    """

    tool: str
    arguments: Mapping[str, Any]
    own_names: Mapping[str, str] = EMPTY

    @property
    def is_known(self) -> bool:
        """Whether the tool is in the vocabulary, so that its arguments are known."""
        return self.tool in TOOLS

    def has(self, name: str) -> bool:
        """Return whether the call has an argument of that name, or can have one."""
        return name in TOOLS.get(self.tool, ()) or name in self.own_names or name in self.arguments

    # `arguments.pyi` declares the arguments, so that type checkers report an unknown one.
    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            return self._argument(name)

    def _argument(self, name: str) -> Any:
        """Return an argument that the tool can have; `None` if the call does not have it.

        Raises:
            AttributeError: If the tool has no such argument, and neither has the call.
        """
        # `self.arguments` would recurse here while `copy` or `pickle` builds the object.
        values = self.__dict__
        tool, arguments = values.get("tool", ""), values.get("arguments", {})
        name = values.get("own_names", {}).get(name, name)
        tool_arguments = TOOLS.get(tool, ())
        if name in tool_arguments or name in arguments:
            return arguments.get(name)
        from anyhook.model.suggest import did_you_mean

        names = [*tool_arguments, *arguments]
        hint = did_you_mean(name, names) or f"it has {', '.join(names) or 'no arguments'}"
        raise AttributeError(f"a call of {tool!r} has no {name!r}; {hint}")


def check_argument(call: ToolCall, tool_name: str, name: str) -> None:
    """Check that an author who sets a name that a call does not have means an argument.

    The call has no argument of that name.

    Raises:
        TypeError: If the tool has no such argument, or if it may be a field of the answer as well.
    """
    from anyhook.model.answers import Answer
    from anyhook.model.suggest import did_you_mean

    if call.is_known:
        names = TOOLS[call.tool]
        hint = did_you_mean(name, [*names, *call.own_names]) or f"it has {', '.join(names)}"
        raise TypeError(
            f"{tool_name} has no argument {name!r}; {hint} "
            "(for one that anyhook does not know, return Answer(tool_input={...}))"
        )
    if name in Answer.record_names:
        raise TypeError(
            f"{name!r} may be an argument of {tool_name} or a field of the answer; "
            f"write event.rewrite(...).replace({name}=...) for the answer, or return "
            f"Answer(tool_input={{{name!r}: ...}}) for the argument"
        )


CALLS: dict[str, type[ToolCall]] = {}
"""Canonical tool to the class of its calls, where an author has imported it."""

NO_VOCABULARY = Vocabulary(agent="unknown", tools={}, mcp_name="{server}__{tool}")
"""The vocabulary of an unknown agent: every tool keeps the agent's name."""


class ToolResult(Record):
    """The result of a tool in a form that does not depend on the agent.

    Attributes:
        text: All text in the result.
        stdout: Standard output of a shell command, if the agent sends it separately.
        stderr: Its standard error, likewise.
        exit_code: Its exit code, if the agent sends it.
        file_path: Path of the file that was read or written, if the agent sends it.
        interrupted: Whether the tool was interrupted.
        error: Text of the error; `None` if the tool succeeded.
        success: Whether the tool succeeded; `None` if the agent does not report it.
        replacement_count: Number of replacements of an edit, or `None`.
        line_count: Number of lines that were read, or `None`.
        truncated: Whether the agent truncated the result, or `None`.
        raw: The result as the agent sent it.
    """

    text: str = ""
    stdout: str | None = None
    stderr: str | None = None
    exit_code: int | None = None
    file_path: str | None = None
    interrupted: bool = False
    error: str | None = None
    success: bool | None = None
    replacement_count: int | None = None
    line_count: int | None = None
    truncated: bool | None = None
    raw: Any = None


NO_SUCCESS = "the tool reports that it did not succeed"
"""The error of a result that reports a failure and holds no text."""
TEXT_MEMBERS = tuple(
    "llmContent stdout stderr content result text output textResultForLlm "
    "text_result_for_llm".split()
)
"""Members of a response that hold its text, in any agent."""


def read_result(response: Any, error: str | None = None) -> ToolResult:
    """Read the result of a tool: an object of any agent, a text, or any other JSON.

    The error is its text, if the agent sent it separately.
    """
    if not isinstance(response, dict):
        return ToolResult(text=text_of(response), error=error, raw=response)
    file = response.get("file")
    file = file if isinstance(file, dict) else {}
    texts = [text_of(response[key]) for key in TEXT_MEMBERS if key in response]
    if not texts:
        texts = [text_of(file.get("content"))]
    text = "\n".join(filter(None, texts))
    success = _boolean(response.get("success"))
    if error is None:
        error = _join(response.get("error")) or None
    if error is None and success is False:
        error = text or NO_SUCCESS
    line_count = _integer(response.get("lineCount"))
    if line_count is None:
        line_count = _integer(file.get("numLines"))
    return ToolResult(
        text=text,
        stdout=_string(response.get("stdout")),
        stderr=_string(response.get("stderr")),
        exit_code=_integer(response.get("exitCode")),
        file_path=_string(response.get("filePath")) or _string(file.get("filePath")),
        interrupted=response.get("interrupted") is True,
        error=error,
        success=success,
        replacement_count=_integer(response.get("replacementCount")),
        line_count=line_count,
        truncated=_boolean(response.get("truncated")),
        raw=response,
    )


def all_texts(value: Any) -> list[str]:
    """Return every string inside a JSON value, in order."""
    texts: list[str] = []
    # A stack instead of recursion: a payload may be nested deeper than Python allows calls.
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            texts.append(item)
        elif isinstance(item, dict):
            stack.extend(reversed(list(item.values())))
        elif isinstance(item, list):
            stack.extend(reversed(item))
    return texts


def text_of(value: Any) -> str:
    """Return the text of a JSON value; of parts like `{"text": …}` only their text."""
    texts: list[Any] = []
    for part in value if isinstance(value, list) else [value]:
        has_text = isinstance(part, dict) and _string(part.get("text"))
        texts.append(part["text"] if has_text else part)
    return _join(texts)


def _join(value: Any) -> str:
    return "\n".join(text for text in all_texts(value) if text)


def _string(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _boolean(value: Any) -> bool | None:
    return value if isinstance(value, bool) else None


def _integer(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
