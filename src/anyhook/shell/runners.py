"""Programs that run other programs, and where in their arguments they find them."""

from __future__ import annotations

from typing import NamedTuple

WORDS, TEXT = "words", "text"
KEPT, STRIPPED, DOUBTED = "kept", "stripped", "doubted"


class Runner(NamedTuple):
    """How a program runs another one."""

    kind: str = WORDS
    """`WORDS` if the words behind its operands are a command; `TEXT` if they are joined and handed
    to a shell."""
    operands: int = 0
    """The number of its own operands in front of the command."""
    assigns: bool = False
    """Whether `NAME=value` may precede the command."""
    is_shown: bool = False
    """Whether it does something of its own, so that it is a command too."""
    is_remote: bool = False
    """Whether the command runs on another machine or in a container."""
    is_typed: bool = False
    """Whether the words are typed into a program that runs already, and perhaps is a shell."""
    in_conditions: str = KEPT
    """What a condition such as `if: "Bash(rm *)"` makes of it: it looks at the command behind it
    (`STRIPPED`), covers everything (`DOUBTED`), or looks at the words as they are (`KEPT`).

    Claude Code strips `timeout`, `time`, `nice`, `nohup`, `stdbuf` and a bare `xargs`, keeps `npx`,
    `docker exec` and other runners of environments, and covers a command that it cannot read.
    Conditions choose which guards run, so others that only change how a program runs are stripped
    as well, and what has too many forms is doubted.
    (Source: code.claude.com/docs/en/permissions, "Process wrappers".)
    """
    has_number: bool = False
    """Whether its operand is a number or a duration, by which conditions and labels know it."""
    shell_options: tuple[str, ...] = ()
    """Options with which it hands its arguments to a shell, or starts one."""


_PLAIN = Runner()
_STRIPPED = Runner(in_conditions=STRIPPED)
_DOUBTED = Runner(in_conditions=DOUBTED)
_ONE_OPERAND = Runner(operands=1)
_CONTAINER = Runner(operands=1, is_shown=True, is_remote=True)
_REMOTE_SHELL = Runner(TEXT, operands=1, is_shown=True, is_remote=True, in_conditions=DOUBTED)

RUNNERS: dict[str, Runner] = {
    **dict.fromkeys(
        "builtin busybox caffeinate command exec fakeroot ionice ltrace nice nohup pkexec"
        " proxychains proxychains4 setsid stdbuf strace time torsocks toybox unbuffer valgrind"
        " winpty xargs xvfb-run".split(),
        _STRIPPED,
    ),
    **dict.fromkeys(
        "bwrap dbus-run-session firejail linux32 linux64 nsenter parallel run0 setpriv systemd-run"
        " unshare".split(),
        _DOUBTED,
    ),
    **dict.fromkeys(
        "- catchsegv cgexec choom chronic daemonize eatmydata entr nocorrect noglob npx numactl"
        " openvt prlimit rlwrap start-stop-daemon systemd-inhibit tsp uvx watchexec ld.so"
        " ld-linux.so.2 ld-linux-x86-64.so.2 ld-linux-aarch64.so.1".split(),
        _PLAIN,
    ),
    **dict.fromkeys(
        (
            "uv run|pipx run|poetry run|pdm run|hatch run|pipenv run|bundle exec|npm exec"
            "|conda run|mise exec|mise x|op run|doppler run|git bisect run|dotenv run"
            "|composer exec|rbenv exec|pyenv exec|asdf exec|bun x|yarn exec|pnpm exec|pnpm dlx"
            "|yarn dlx|uv tool run|rye run|npm x|infisical run|dotenvx run|perf stat|perf record"
        ).split("|"),
        _PLAIN,
    ),
    **dict.fromkeys(
        "chroot chrt faketime flock gosu su-exec taskset".split(),
        Runner(operands=1, in_conditions=STRIPPED),
    ),
    **dict.fromkeys(
        ("arch-chroot|repeat|direnv exec|aws-vault exec|chamber exec|rustup run").split("|"),
        _ONE_OPERAND,
    ),
    "setarch": Runner(operands=1, in_conditions=DOUBTED),
    "timeout": Runner(operands=1, in_conditions=STRIPPED, has_number=True),
    "sudo": Runner(assigns=True, in_conditions=STRIPPED, shell_options=("--shell", "--login")),
    "doas": Runner(in_conditions=STRIPPED, shell_options=("-s",)),
    "env": Runner(assigns=True, in_conditions=STRIPPED),
    "eval": Runner(TEXT, in_conditions=DOUBTED),
    "watch": Runner(TEXT, in_conditions=STRIPPED),
    "ssh": _REMOTE_SHELL,
    "rsh": _REMOTE_SHELL,
    "adb shell": Runner(TEXT, is_shown=True, is_remote=True),
    "hyperfine": Runner(TEXT),
    **dict.fromkeys(
        (
            "docker run|docker exec|docker create|docker compose run|docker compose exec"
            "|kubectl exec|lxc exec|incus exec|docker-compose run|docker-compose exec"
        ).split("|"),
        _CONTAINER,
    ),
    "git submodule foreach": Runner(TEXT, is_shown=True),
    "screen": Runner(is_shown=True, in_conditions=DOUBTED),
    **dict.fromkeys(
        (
            "tmux new-session|tmux new-window|tmux split-window|tmux respawn-pane"
            "|tmux respawn-window|tmux run-shell|tmux pipe-pane|tmux display-popup"
        ).split("|"),
        Runner(TEXT, is_shown=True),
    ),
    "tmux send-keys": Runner(TEXT, is_shown=True, is_typed=True),
}
"""Programs, some with their subcommand, to how they run another one."""

WRAPPERS = frozenset(name for name, runner in RUNNERS.items() if runner.in_conditions == STRIPPED)
"""The programs that only change how another one runs."""

TMUX_COMMANDS = (
    "new-session new-window neww split-window splitw respawn-pane respawnp respawn-window respawnw"
    " run-shell if-shell send-keys pipe-pane pipep display-message display-popup popup".split()
)
"""Commands of tmux to which beginnings of names belong: the first one counts."""
TMUX_ALIASES = {
    "neww": "new-window",
    "splitw": "split-window",
    "respawnp": "respawn-pane",
    "respawnw": "respawn-window",
    "pipep": "pipe-pane",
    "popup": "display-popup",
}

WRAPPER_NAMES = frozenset(
    {
        *[name.partition(" ")[0] for name in RUNNERS],
        *"podman nerdctl oc k3s gxargs gtimeout genv gtime".split(),
        *"mamba micromamba bunx pnpx".split(),
    }
)
"""The programs of the table, and their other names."""

TEXT_OPTIONS = {
    "tar": "--to-command --checkpoint-action --use-compress-program --info-script --rsh-command",
    "rsync": "--rsh",
    "split": "--filter",
    "sort": "--compress-program",
    "git rebase": "--exec",
    "git difftool": "--extcmd",
    "git filter-branch": "--env-filter --tree-filter --index-filter --parent-filter --msg-filter"
    " --commit-filter --tag-name-filter --setup",
    "script": "--command",
    "mapfile": "-C",
    "su": "--command --session-command",
    "runuser": "--command --session-command",
    "flock": "--command",
    "npx": "--call",
    "npm exec": "--call",
    "env": "--split-string",
    "gcloud": "--command",
    "ssh": "-o",
    "scp": "-o -S",
    "git": "-c",
    "tmux": "--shell-command",
}
"""Program to its options whose value is a command line."""
PROGRAMS_WITH_TEXTS = frozenset([name.partition(" ")[0] for name in TEXT_OPTIONS])

CODE_OPTIONS = {
    "python": ("-c",),
    "pypy": ("-c",),
    "perl": ("-e", "-E"),
    "ruby": ("-e",),
    "node": ("--eval", "--print"),
    "php": ("-r",),
    "lua": ("-e",),
    "osascript": ("-e",),
    "bun": ("--eval", "--print"),
    "deno": ("eval",),
    "Rscript": ("-e",),
}
"""Interpreters to the options whose value is their code."""
