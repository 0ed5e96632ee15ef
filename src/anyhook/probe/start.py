"""Start the program of an agent with a scripted model, and wait until it ends."""

from __future__ import annotations

import functools
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING

from anyhook.agents.entry import load_object
from anyhook.agents.program import AgentProgram, Workplace
from anyhook.agents.spec.settings import Extensions, Plugins
from anyhook.errors import UsageError
from anyhook.model.record import Record, replace
from anyhook.probe.models import MODELS
from anyhook.sandbox.copies import copy_home, copy_project
from anyhook.secrets.names import is_secret_name
from anyhook.settings.overlay import lay_over
from anyhook.settings.sources import Location, config_dir

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anyhook.agents.spec import AgentSpec
    from anyhook.probe.models.server import Body, ModelScript, ScriptedModel


ENCLOSED = Path(__file__).with_name("enclosed.py")
ENCLOSED_PORT = 8080
"""In a network of its own every port is free."""
NOWHERE = "http://127.0.0.1:9"
"""A proxy that does not exist, for programs where the network is not shut off."""
TEMPORARY = "tmp"
"""Directory for temporary files, in the home."""
VERSION_SECONDS = 30.0
_VERSION = re.compile(r"\d+\.\d+\.\d+(?:[-+][\w.]+)?")
OUTSIDE_PREFIXES = ("ANYHOOK_", "XDG_", "SSH_", "DBUS_", "GPG_", "npm_", "NODE_OPTIONS", "BASH_ENV")
"""Variables that lead out of the home, or change other programs than hooks."""
PROXIES = frozenset({"http_proxy", "https_proxy", "all_proxy", "no_proxy", "ftp_proxy"})


@dataclass(frozen=True, slots=True)
class ProgramRun:
    """What a program did."""

    model: ScriptedModel
    """The server that played its model: what it was asked, and what the answers mean."""
    stdout: str
    stderr: str
    exit_code: int
    """Minus the number of the signal that ended it, if one did."""
    timed_out: bool = False
    """Whether it did not end in time and was killed."""

    @property
    def requests(self) -> list[Body]:
        """What the model was asked by the agent, one body for each turn."""
        return self.model.requests

    def heard(self, number: int) -> str:
        """Return all that the model had received up to a request, the first of them being 0."""
        return "\n".join(self.model.heard(self.requests[number]))

    def tool_results(self) -> list[str]:
        """Return what the model received as the results of the tools that it called."""
        return self.model.tool_results(self.requests[-1]) if self.requests else []


@functools.cache
def fence() -> tuple[str, ...]:
    """Return the command that shuts another one in; empty if there is none, as in a sandbox.

    What runs inside has no network but a loopback interface, and ends, to the last tool in the
    background, when the program ends.
    """
    command = (*("unshare", "--map-root-user", "--net"),
               *("--pid", "--mount-proc", "--fork", "--kill-child"))  # fmt: skip
    if sys.platform != "linux" or shutil.which(command[0]) is None:
        return ()
    works = subprocess.run([*command, "true"], capture_output=True, check=False).returncode == 0
    return command if works else ()


def program_version(command: Sequence[str], home: Path) -> str:
    """Return the version that a program prints, with a home that it may write to.

    Raises:
        UsageError: If it cannot be started, or prints no version.
    """
    environ = {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(home)}
    line = " ".join(command)
    try:
        process = subprocess.run(
            [*command, "--version"],
            env=environ,
            cwd=home,  # in the project it may complain about the settings there
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=VERSION_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UsageError(f"{line} cannot be started: {error}") from None
    match = _VERSION.search(process.stdout) or _VERSION.search(process.stderr)
    if match is None:
        raise UsageError(f"{line} does not print its version: {process.stderr.strip()[:200]}")
    return match[0]


def run_program(
    program: AgentProgram,
    command: Sequence[str],
    place: Workplace,
    script: ModelScript,
    prompt: str,
    *,
    seconds: float,
) -> ProgramRun:
    """Give an agent a prompt and its model a script, and wait until the program ends.

    The home gets the files of a user who has used the agent before; the program inherits the
    environment of the place. After the seconds it is killed, with all that it started.

    Raises:
        UsageError: If it cannot be started.
    """
    server: type[ScriptedModel] = load_object(MODELS[program.api])
    enclosing = fence()
    with tempfile.TemporaryFile() as stdout, tempfile.TemporaryFile() as stderr:
        # Files, so that no process that is left behind keeps this one waiting.
        ours, theirs = socket.socketpair()
        with ours:
            if enclosing:
                port = ENCLOSED_PORT
                script_words = ("-I", "-S", str(ENCLOSED), str(theirs.fileno()), str(port))
                prefix = (*enclosing, sys.executable, *script_words)
            else:
                listener = socket.create_server(("127.0.0.1", 0), backlog=64)
                port, prefix = listener.getsockname()[1], ()
            place = replace(place, model_url=f"http://127.0.0.1:{port}")
            _write_files(program, place)
            words = [*prefix, *command, *program.arguments(prompt, place)]
            environ = program_environment(program, place)
            with theirs:
                try:
                    process = subprocess.Popen(
                        words,
                        cwd=place.project,
                        env=environ,
                        stdin=subprocess.DEVNULL,
                        stdout=stdout,
                        stderr=stderr,
                        pass_fds=(theirs.fileno(),) if enclosing else (),
                        start_new_session=True,
                    )
                except OSError as error:
                    raise UsageError(f"{words[0]} cannot be started: {error.strerror}") from None
            timed_out = False
            try:
                if enclosing:
                    _, descriptors, _, _ = socket.recv_fds(ours, 1, 1)
                    if not descriptors:
                        process.wait()
                        output = _text(stderr).strip()
                        raise UsageError(f"{' '.join(command)} cannot be started: {output}")
                    listener = socket.socket(fileno=descriptors[0])
                with server(listener, script) as model:
                    exit_code = process.wait(seconds)
            except subprocess.TimeoutExpired:
                timed_out = True
            finally:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)
                exit_code = process.wait()
        return ProgramRun(model, _text(stdout), _text(stderr), exit_code, timed_out)


def program_environment(program: AgentProgram, place: Workplace) -> dict[str, str]:
    """Return the environment of a program: the user's without secrets, accounts and settings."""
    environ: dict[str, str] = {}
    for name, value in place.environ.items():
        is_kept = name in program.kept_variables or not (
            name.startswith((*program.own_prefixes, *OUTSIDE_PREFIXES))
            or name.lower() in PROXIES
            or is_secret_name(name)  # there is no network that needs them
        )
        if is_kept:
            environ[name] = value
    temporary = place.home / TEMPORARY
    temporary.mkdir(parents=True, exist_ok=True)
    return {
        **environ,
        "PATH": environ.get("PATH", os.defpath),
        "HOME": str(place.home),
        "TMPDIR": str(temporary),
        "NO_COLOR": "1",
        "NO_PROXY": "127.0.0.1",
        "HTTPS_PROXY": NOWHERE,
        "HTTP_PROXY": NOWHERE,
        "ANYHOOK_WORKER": "off",  # a worker would outlive the run
        **program.environment(place),
    }


def _write_files(program: AgentProgram, place: Workplace) -> None:
    """Write the files of the home and of the project, and the settings that a run needs."""
    home, project = place.home, place.project
    for directory, files in (
        (home, program.home_files(place)),
        (home, program.trust_files(place)),
        (project, program.project_files(place)),
    ):
        for name, content in files.items():
            path = directory / name
            path.parent.mkdir(parents=True, exist_ok=True)
            text = content if isinstance(content, str) else json.dumps(content, indent=2)
            path.write_text(text, encoding="utf-8")
    if not program.settings_file:
        return
    settings = home / program.settings_file
    settings.parent.mkdir(parents=True, exist_ok=True)
    text = settings.read_text(encoding="utf-8") if settings.exists() else "{}"
    settings.write_text(lay_over(text, program.settings), encoding="utf-8")
    # The project may override the settings of the user.
    of_project = project / program.settings_file
    if of_project.exists():
        text = of_project.read_text(encoding="utf-8")
        changed = lay_over(text, program.settings, only_existing=True)
        if changed != text:
            of_project.write_text(changed, encoding="utf-8")


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode(errors="replace")


# -- the copy of a project

REPOSITORY = ".git"
COPIED_REPOSITORY_FILES = ("HEAD", "index", "packed-refs", "refs", "info", "hooks", "shallow")
"""What is copied of a repository. Without `config` it has no remote that a command could reach."""
CONFIG = "[core]\n\trepositoryformatversion = 0\n\tbare = false\n"
MAX_RECORD_SIZE = 1024 * 1024


class Scratch(Record, kw_only=False):
    """A copy of a project and of its user's home."""

    agent: AgentSpec
    root: Path
    """Directory that holds the copies and nothing else."""
    real: Location
    copy: Location
    """Its environment is what the program gets."""

    @property
    def place(self) -> Workplace:
        """Where the program works; its environment is the user's."""
        return Workplace(self.copy.home, self.copy.project, self.real.environ)

    def original(self, text: str) -> str:
        """Return a text with the paths of the originals in place of those of the copies."""
        text = text.replace(str(self.copy.project), str(self.real.project))
        return text.replace(str(self.copy.home), str(self.real.home))

    def in_copy(self, text: str) -> str:
        """Return a text with the paths of the copies, as far as the original is copied."""
        directories = (
            (str(config_dir(self.agent, self.real)), str(config_dir(self.agent, self.copy))),
            (str(self.real.project), str(self.copy.project)),
        )
        for real, copy in directories:
            text = text.replace(real, copy)
        return text


def make_scratch(
    agent: AgentSpec, program: AgentProgram, real: Location, root: Path, links_packages: bool
) -> Scratch:
    """Copy a project and what an agent and its hooks need of the home to a new directory.

    Raises:
        UsageError: If the project is too large to copy.
    """
    home, project = root / "home", root / "project" / (real.project.name or "root")
    root.mkdir(parents=True)
    project.parent.mkdir()
    copy_home(real, home)
    copy_project(real.project, project, without=(REPOSITORY,), links_packages=links_packages)
    _link_repository(real.project, project)
    scratch = Scratch(agent, root, real, Location(project, home, {}, real.platform))
    # The records of extensions and plugins have to name the copies of the directories.
    packages = agent.settings.packages
    records: list[Path] = []
    config = config_dir(agent, scratch.copy)
    if isinstance(packages, Plugins):
        records.append(Path(packages.record.format(config=config)))
    elif isinstance(packages, Extensions):
        directory = Path(packages.directory.format(home=home, config=config))
        records += directory.glob(f"*/{packages.install_record}")
        records.append(directory / packages.enablement)
    for record in records:
        if record.is_file() and record.stat().st_size <= MAX_RECORD_SIZE:
            text = record.read_text(encoding="utf-8", errors="surrogateescape")
            record.write_text(scratch.in_copy(text), encoding="utf-8", errors="surrogateescape")
    environ = program_environment(program, scratch.place)
    return replace(scratch, copy=scratch.copy._replace(environ=environ))


def _link_repository(project: Path, copy: Path) -> None:
    """Give the copy the history of the project, without copying it and without remotes.

    Git looks for objects in the original repository and writes new ones to the copy.
    """
    # The directory of the checkout, and that of the repository, which worktrees share.
    own = common = project / REPOSITORY
    if not own.is_dir():
        try:
            text = own.read_text(encoding="utf-8")
            own = (project / text.removeprefix("gitdir:").strip()).resolve()
            shared = own / (own / "commondir").read_text(encoding="utf-8").strip()
        except OSError:
            return
        common = Path(os.path.realpath(shared))
    target = copy / REPOSITORY
    (target / "objects" / "info").mkdir(parents=True)
    (target / "refs").mkdir()
    for directory in dict.fromkeys((common, own)):
        for name in COPIED_REPOSITORY_FILES:
            source = directory / name
            with suppress(OSError):
                if source.is_dir():
                    shutil.copytree(source, target / name, dirs_exist_ok=True)
                else:
                    shutil.copyfile(source, target / name)
    alternates = target / "objects" / "info" / "alternates"
    alternates.write_text(f"{common / 'objects'}\n", encoding="utf-8")
    (target / "config").write_text(CONFIG, encoding="utf-8")
