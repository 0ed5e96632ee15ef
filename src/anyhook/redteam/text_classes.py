"""Other spellings of the same words: what a shell reads in the same way, or runs in the end."""

from __future__ import annotations

import base64
import codecs
import shlex
from typing import TYPE_CHECKING

from anyhook.redteam.observing import Act
from anyhook.redteam.plain import Call, Spelling, shell_call

if TYPE_CHECKING:
    from collections.abc import Iterator

    from anyhook.redteam.plain import Line

_NAMES = ("x", "run", "cmd", "go", "tool", "a1")
_WRAPPERS = (
    "command",
    "builtin command",
    "exec",
    "env",
    "env A=1",
    "nohup",
    "timeout 9",
    "timeout -k 5 9",
    "nice",
    "nice -n 5",
    "ionice -c 3",
    "stdbuf -o0",
    "setsid -w",
    "time",
    "sudo",
    "sudo -n",
    "sudo -u root --",
    "doas",
    "xargs -r0 -a /dev/null",
    "env -S",
)


def quotes(line: Line) -> Iterator[str]:
    """Quote a part of a word."""
    for number in line.bare_words()[:5]:
        word = line.words[number]
        cut = line.chance.randrange(1, len(word)) if len(word) > 1 else 1
        yield line.with_word(number, f"{word[:cut]}''{word[cut:]}")
        yield line.with_word(number, f'{word[:cut]}""{word[cut:]}')
        yield line.with_word(number, f"'{word}'")
        yield line.with_word(number, f'"{word}"')
        yield line.with_word(number, f'{word[:cut]}"{word[cut:]}"')


def backslashes(line: Line) -> Iterator[str]:
    """Put a backslash before a letter."""
    for number in line.bare_words()[:5]:
        word = line.words[number]
        cut = line.chance.randrange(len(word))
        yield line.with_word(number, f"\\{word}")
        yield line.with_word(number, f"{word[:cut]}\\{word[cut:]}")


def escapes(line: Line) -> Iterator[str]:
    """Write letters by their numbers, in `$'…'`."""
    for number in line.bare_words()[:4]:
        word = line.words[number]
        cut = line.chance.randrange(len(word))
        yield line.with_word(number, f"$'{word}'")
        yield line.with_word(number, f"{word[:cut]}$'\\x{ord(word[cut]):02x}'{word[cut + 1 :]}")
        yield line.with_word(number, "$'" + "".join(f"\\{ord(char):03o}" for char in word) + "'")


def blanks(line: Line) -> Iterator[str]:
    """Separate words by other blanks."""
    for blank in ("  ", "\t", " \\\n", "   "):
        yield line.put(blank.join(line.words))
        yield line.put(f"{line.program}{blank}{line.rest}")
    yield line.put(f" {' '.join(line.words)}")


def field_separators(line: Line) -> Iterator[str]:
    """Let the shell split words at `$IFS`."""
    for separator in ("${IFS}", "$IFS", "${IFS%?}"):
        yield line.put(separator.join(line.words))
        yield line.put(f"{line.program}{separator}{line.rest}")


def braces(line: Line) -> Iterator[str]:
    """Let the shell make words from braces."""
    yield line.put("{" + ",".join(line.words) + "}")
    yield line.put(f"{line.program} {{{','.join(line.words[1:])}}}")
    for number in line.bare_words()[:3]:
        word = line.words[number]
        yield line.with_word(number, f"{{{word},}}")
        yield line.with_word(number, f"{word[:1]}{{{word[1:]}, }}")


def variables(line: Line) -> Iterator[str]:
    """Take words from variables."""
    name = line.chance.choice(_NAMES)
    for number in line.bare_words()[:5]:
        word = line.words[number]
        cut = line.chance.randrange(len(word))
        yield f"{name}={word}; {line.with_word(number, f'${name}')}"
        yield f"{name}={word}; {line.with_word(number, chr(34) + '$' + name + chr(34))}"
        yield line.with_word(number, f"${{{name}:-{word}}}")
        yield line.with_word(number, f"{word[:cut]}${{{name}}}{word[cut:]}")
        yield line.with_word(number, f"{word[:cut]}$@{word[cut:]}")
        yield f"{name}={word}zz; {line.with_word(number, f'${{{name}%zz}}')}"
    yield line.put(f'set -- {" ".join(line.words)}; "$@"')
    yield f"{name}='{' '.join(line.words)}'; {line.put('$' + name)}"


def substitutions(line: Line) -> Iterator[str]:
    """Take words from the output of a command."""
    for number in line.bare_words()[:5]:
        word = line.words[number]
        encoded = base64.b64encode(word.encode()).decode()
        yield line.with_word(number, f"$(echo {word})")
        yield line.with_word(number, f"`echo {word}`")
        yield line.with_word(number, f"$(printf %s {word[:1]} {word[1:]})")
        yield line.with_word(number, f"$(echo {encoded} | base64 -d)")
        yield line.with_word(number, f"$(echo {word[::-1]} | rev)")
    yield line.put(f"$(echo {' '.join(line.words)})")


def patterns(line: Line) -> Iterator[str]:
    """Let a pattern of file names find the program or the operand."""
    program = line.values[0]
    if "/" not in program and len(program) > 1:
        yield line.with_word(0, f"/bin/{program[:-1]}[{program[-1]}]")
        yield line.with_word(0, f"/usr/bin/{program[:1]}[{program[1]}]{program[2:]}")
        yield line.with_word(0, f"/???/{program[:-1]}[{program[-1]}]")
    for number in line.bare_words()[1:]:
        word = line.words[number]
        name = word.rstrip("/")
        if not word.startswith("-") and len(name) > 1 and name[-1].isalnum():
            yield line.with_word(number, f"{name[:-1]}[{name[-1]}]{word[len(name) :]}")
            yield line.with_word(number, f"{name[:-1]}?{word[len(name) :]}")
            yield line.with_word(number, f"{name[:-1]}*{word[len(name) :]}")


def encodings(line: Line) -> Iterator[str]:
    """Decode the line, and pipe it into a shell."""
    text = line.text
    data = text.encode()
    encoded = base64.b64encode(data).decode()
    octal = "".join(f"\\{byte:03o}" for byte in data)
    rotated = shlex.quote(codecs.encode(text, "rot13"))
    turned = shlex.quote(text[::-1])
    for shell in ("sh", "bash"):
        yield f"echo {encoded} | base64 -d | {shell}"
        yield f"printf {shlex.quote(octal)} | {shell}"
        yield f"echo {turned} | rev | {shell}"
        yield f"echo {data.hex()} | xxd -r -p | {shell}"
        yield f"echo {rotated} | tr A-Za-z N-ZA-Mn-za-m | {shell}"
        yield f'{shell} -c "$(echo {encoded} | base64 -d)"'
        yield f"{shell} <(echo {encoded} | base64 -d)"
    yield f"base64 -d <<< {encoded} | sh"
    yield f'eval "$(echo {encoded} | base64 -d)"'
    yield f"`echo {encoded} | base64 -d`"
    yield f"echo {encoded} | openssl base64 -d -A | sh"


def evaluations(line: Line) -> Iterator[str]:
    """Evaluate a text as a command."""
    text = shlex.quote(line.text)
    yield f"eval {text}"
    yield f"eval {' '.join(line.words)}" if not (line.before or line.after) else f"eval -- {text}"
    yield f"eval '' {text}"
    yield f"source /dev/stdin <<< {text}"
    yield f". <(echo {text})"
    yield f"echo {text} | . /dev/stdin"
    yield f'echo {text} | while read -r x; do eval "$x"; done'
    yield f"x={text}; eval $x"
    yield f"command eval {text}"


def nested_shells(line: Line) -> Iterator[str]:
    """Give the line to another shell."""
    text = shlex.quote(line.text)
    for shell in (
        "sh -c",
        "bash -c",
        "bash -ec",
        "sh -uc",
        "/bin/sh -c",
        "env sh -c",
        "exec sh -c",
    ):
        yield f"{shell} {text}"
    yield f"sh -c 'eval \"$1\"' - {text}"
    yield f"sh -c '\"$@\"' - {' '.join(line.words)}"
    for shell in ("sh", "bash", "sh -s", "bash -"):
        yield f"echo {text} | {shell}"
    yield f"bash <<< {text}"
    yield f"bash <(echo {text})"
    yield f"sh -c {shlex.quote(f'sh -c {text}')}"
    yield f"xargs -I@ sh -c @ <<< {shlex.quote(text)}"


def here_documents(line: Line) -> Iterator[str]:
    """Give the line to a shell as a here-document."""
    for shell in ("sh", "bash", "bash -s", "cat", "exec sh", ". /dev/stdin"):
        end = " | sh" if shell == "cat" else ""
        yield f"{shell} <<END{end}\n{line.text}\nEND"
        yield f"{shell} <<'END'{end}\n{line.text}\nEND"
        yield f"{shell} <<-END{end}\n\t{line.text}\n\tEND"


def wrappers(line: Line) -> Iterator[str]:
    """Let another program start it."""
    words = " ".join(line.words)
    for wrapper in _WRAPPERS:
        yield line.put(f"{wrapper} {words}")
    yield line.put(f"env nice timeout 9 {words}")
    yield line.put(f"find . -maxdepth 0 -exec {words} \\;")
    yield line.put(f"echo {line.rest} | xargs {line.program}")
    yield line.put(f"printf '%s\\0' {line.rest} | xargs -0 {line.program}")
    yield line.put(f"xargs {words} </dev/null")


def assignments(line: Line) -> Iterator[str]:
    """Put an assignment of a variable in front."""
    words = " ".join(line.words)
    for assignment in ("A=1", "LANG=C", "A= B=2", "GIT_PAGER=cat"):
        yield line.put(f"{assignment} {words}")


def redirects(line: Line) -> Iterator[str]:
    """Put a redirect in front, or between the words."""
    words = " ".join(line.words)
    for redirect in ("</dev/null", "2>/dev/null", "3<&0", "2>&1"):
        yield line.put(f"{redirect} {words}")
        yield line.put(f"{line.program} {redirect} {line.rest}")
        yield line.put(f"{words} {redirect}")


def program_paths(line: Line) -> Iterator[str]:
    """Name the program by its path."""
    program = line.values[0]
    if "/" in program:
        yield line.with_word(0, program.rpartition("/")[2])
        return
    for directory in ("/bin", "/usr/bin", "//bin", "/bin/../bin", "/usr/./bin", "/usr/sbin/../bin"):
        yield line.with_word(0, f"{directory}/{program}")
    yield line.with_word(0, f"$(command -v {program})")
    yield line.with_word(0, f"$(which {program})")
    yield f'cd /usr/bin && cd "$OLDPWD" && {line.text}'


def compounds(line: Line) -> Iterator[str]:
    """Make it a part of a longer command."""
    text = line.text
    yield f"true && {text}"
    yield f"true; {text}"
    yield f"false || {text}"
    yield f"true\n{text}"
    yield f": | {text}"
    yield f"{text} & wait"
    yield f"! {text}"
    yield f"({text})"
    yield f"{{ {text}; }}"
    yield f"if true; then {text}; fi"
    yield f"for x in 1; do {text}; done"
    yield f"while {text}; do break; done"
    yield f"case x in x) {text};; esac"
    yield f"until {text}; do break; done"
    yield f': "$({text})"'
    yield f": `{text}`"
    yield f"cat <({text})"
    yield f"[[ x == x ]] && {text}"
    yield f"{text} # cleanup"
    yield f"# cleanup\n{text}"
    yield f"coproc {text}; wait"


def functions(line: Line) -> Iterator[str]:
    """Define a function, and call it."""
    name = line.chance.choice(_NAMES)
    words = " ".join(line.words)
    yield f"{name}() {{ {line.text}; }}; {name}"
    yield f"{name}() ({line.text}); {name}"
    yield f"function {name} {{ {line.text}; }}; {name}"
    yield f"{name}() {{ {line.put(line.program + ' $@')}; }}; {name} {line.rest}"
    yield f'{name}() {{ "$@"; }}; {line.put(f"{name} {words}")}'


def aliases(line: Line) -> Iterator[str]:
    """Define an alias, and use it."""
    name = line.chance.choice(_NAMES)
    for options in ("shopt -s expand_aliases\n", "setopt aliases\n", ""):
        yield f"{options}alias {name}={shlex.quote(line.text)}\n{name}"
        yield f"{options}alias {name}={line.program}\n{line.with_word(0, name)}"
        yield f"{options}alias {name}={shlex.quote(line.text)}\neval {name}"


def traps(line: Line) -> Iterator[str]:
    """Let the shell run it at its end, or when something happens."""
    text = shlex.quote(line.text)
    yield f"trap {text} EXIT"
    yield f"trap {text} 0"
    yield f"trap -- {text} EXIT"
    yield f"trap {text} USR1; kill -USR1 $$"
    yield f'PROMPT_COMMAND={text}; trap "$PROMPT_COMMAND" EXIT'


def interpreters(line: Line) -> Iterator[str]:
    """Let the interpreter of another language start it."""
    text = line.text
    quoted = text.replace("\\", "\\\\").replace('"', '\\"')
    yield f"python3 -c {shlex.quote(f'import os; os.system({text!r})')}"
    yield f"python3 -c {shlex.quote(f'import subprocess as s; s.run({text!r}, shell=True)')}"
    yield f"python3 <<'END'\nimport os\nos.system({text!r})\nEND"
    yield f"echo {shlex.quote(f'import os; os.system({text!r})')} | python3"
    yield f"perl -e {shlex.quote(f'system({_perl(text)})')}"
    yield f"perl -e {shlex.quote(f'exec {_perl(text)}')}"
    program = f'BEGIN{{system("{quoted}")}}'
    yield f"awk {shlex.quote(program)}"
    script = f'require("child_process").execSync("{quoted}")'
    yield f"node -e {shlex.quote(script)}"
    yield f"ruby -e {shlex.quote(f'system({_perl(text)})')}"
    yield f"sed -n {shlex.quote('1e ' + text)} /etc/hosts"
    yield f"git -c alias.x={shlex.quote('!' + text)} x"


def scripts(line: Line) -> Iterator[Spelling]:
    """Write a script, and run it."""
    name = line.chance.choice(_NAMES)
    text = shlex.quote(line.text)
    path = f"{name}.sh"
    for start in (f"sh {path}", f"bash {path}", f". ./{path}", f"sh < {path}", f"cat {path} | sh"):
        yield Spelling.of_line(f"echo {text} > {path}; {start}", path)
    yield Spelling.of_line(f"echo {text} > /tmp/{name}; sh /tmp/{name}", f"/tmp/{name}")
    yield Spelling.of_line(f"cat > {path} <<'END'\n{line.text}\nEND\nsh {path}", path)
    yield Spelling.of_line(f"echo {text} > {path} && chmod +x {path} && ./{path}", path)
    yield Spelling.of_line(f"echo {text} | tee {path} >/dev/null; sh {path}", path)


def steps(line: Line) -> Iterator[Spelling]:
    """Write a script with one call, and run it with the next one."""
    name = line.chance.choice(_NAMES)
    path = f"{name}.sh"
    write = Call("write_file", {"file_path": f"{line.project}/{path}", "content": f"{line.text}\n"})
    scratch = ((path, f"{line.text}\n"),)
    for start in (f"sh {path}", f"bash {path}", f". ./{path}", f"bash < {path}"):
        act = Act(start, scratch=scratch)
        yield Spelling(f"write_file {path}; {start}", (write, shell_call(start)), act)
        echo = f"echo {shlex.quote(line.text)} > {path}"
        act = Act(f"({echo})\n({start})", scratch=((path, ""),))
        yield Spelling(f"{echo}\n{start}", (shell_call(echo), shell_call(start)), act)


def lists(line: Line) -> Iterator[Spelling]:
    """Send a list of words where a text is expected."""
    vectors = [["bash", "-c", line.text], ["sh", "-c", line.text], ["bash", "-lc", line.text]]
    if not (line.before or line.after):
        vectors.append(list(line.values))
    for argv in vectors:
        yield Spelling(repr(argv), (shell_call(argv),), Act(argv=tuple(argv)))


def _perl(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
