"""Hook files on a worker: the same results as cold, whatever the hook does."""

from __future__ import annotations

import json
import os
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from anyhook.agents import CODING_AGENTS, get_agent
from anyhook.testing import make_payload
from tests.waiting import until
from tests.warm import WRITE, Warm, is_running


@pytest.fixture
def warm(tmp_path):
    world = Warm(tmp_path)
    yield world
    world.close()


SAYS = "@hooks.before_tool\ndef say(event):\n"
SAME = {
    "no opinion": SAYS + "    return None",
    "deny": SAYS + "    return deny('no: ' + event.text)",
    "allow": SAYS + "    return allow('fine')",
    "context": SAYS + "    return context('mind the gap ÄÖÜ 😀')",
    "crash": SAYS + "    raise ValueError('secret')",
    "nonsense": SAYS + "    return 17",
    "exit code": SAYS + "    raise SystemExit(3)",
    "exit text": SAYS + "    import sys; sys.exit('bye')",
    "exit 0": SAYS + "    import sys; sys.exit()",
    "os._exit": SAYS + "    import os; os._exit(5)",
    "print": SAYS + "    print('to the people'); return deny('x')",
    "print to fd 1": SAYS + "    import os; os.write(1, b'spoils'); return deny('x')",
    "print to fd 2": SAYS + "    import os; os.write(2, b'told'); return deny('x')",
    "child prints": SAYS + "    import os; os.system('echo from a child'); return deny('x')",
    "reads stdin": SAYS + "    import sys; return deny(repr(sys.stdin.read()))",
    "argv": SAYS + "    import sys; return deny(repr((sys.argv, sys.orig_argv[1:])))",
    "cwd": SAYS + "    import os; return deny(os.getcwd())",
    "main": SAYS + "    import sys, __main__; return deny(repr((__name__, __file__, sys.path[0],"
    " __main__.hooks is hooks, sys.modules[say.__module__].__file__)))",
    "umask": SAYS + "    import os; m = os.umask(0); os.umask(m); return deny(oct(m))",
    "environment": SAYS + "    import os; drop = {'_', 'SHLVL', 'ANYHOOK_WORKER'}\n"
    "    return deny(repr(sorted(p for p in os.environ.items() if p[0] not in drop)))",
    "getenv of a child": SAYS + "    import subprocess\n"
    "    return deny(subprocess.run(['sh', '-c', 'echo $OF_THE_CALL'],"
    " capture_output=True, text=True).stdout)",
    "descriptors": SAYS + "    import os\n"
    "    return deny(repr([fd for fd in range(3) if os.fstat(fd)]))",
    "isolated": SAYS + "    import sys; return deny(repr(sys.flags))",
    "prefix": SAYS + "    import sys; return deny(repr((sys.prefix, sys.executable, sys.version)))",
    "async": "@hooks.before_tool\nasync def say(event):\n"
    "    import asyncio; await asyncio.sleep(0.01); return deny('slept')",
    # Python 3.12 warns of the thread that watches the time of a cold hook.
    "forks and leaves the child": SAYS + "    import os, warnings\n"
    "    warnings.simplefilter('ignore')\n    if os.fork() == 0:\n        os._exit(0)\n"
    "    return deny('x')",
    "forks and the child returns": SAYS + "    import os, warnings\n"
    "    warnings.simplefilter('ignore')\n    pid = os.fork()\n"
    "    if pid: os.waitpid(pid, 0)\n    return deny('x')",
    "forks beside a thread": SAYS + "    import os, threading, warnings\n"
    "    go = threading.Event()\n    thread = threading.Thread(target=go.wait)\n"
    "    thread.start()\n    warnings.simplefilter('ignore')\n    pid = os.fork()\n"
    "    if pid == 0:\n        os.write(2, str(threading.active_count()).encode())\n"
    "        os._exit(0)\n    os.waitpid(pid, 0)\n    go.set()\n    thread.join()\n"
    "    return deny('x')",
    "thread": SAYS + "    import threading, time\n"
    "    threading.Thread(target=time.sleep, args=(30,)).start()\n    return deny('x')",
    "atexit": SAYS + "    import atexit, os\n    atexit.register(os.write, 2, b'at the end')\n"
    "    return deny('x')",
    "signal handler": SAYS + "    import signal\n    signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
    "    return deny('x')",
    "closes stdin": SAYS + "    import sys; sys.stdin.close(); return deny('x')",
    "closes stdout": SAYS + "    import os; os.close(1); return deny('x')",
    "replaces stdout": SAYS + "    import io, sys; sys.stdout = io.StringIO(); return deny('x')",
    "closes sys.stdout": SAYS + "    import sys; sys.stdout.close(); return deny('x')",
    "closes sys.stderr": SAYS + "    import sys; sys.stderr.close(); return deny('x')",
    "sets a variable while loading": "import os\nos.environ['OF_LOADING'] = '1'\n"
    "os.environ.setdefault('OF_THE_CALL', 'none')\nos.environ.pop('PATH', None)\n"
    + SAYS
    + "    return deny(repr([os.environ.get(n) for n in ('OF_LOADING', 'OF_THE_CALL', 'PATH')]))",
    "looks at every variable while loading": "import os\nALL = sorted(dict(os.environ))\n"
    + SAYS
    + "    return deny(os.environ['OF_THE_CALL'])",
    "changes a variable of the module": "seen = []\n" + SAYS + "    seen.append(1)\n"
    "    return deny(str(len(seen)))",
    "a timer": SAYS + "    import signal\n    signal.setitimer(signal.ITIMER_VIRTUAL, 0.01)\n"
    "    return deny('x')",
    "signal mask": SAYS + "    import signal\n"
    "    old = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM, signal.SIGUSR1])\n"
    "    return deny(repr(old))",
    "ignored signals": SAYS + "    import signal\n    numbers = (signal.SIGPIPE, signal.SIGTERM,"
    " signal.SIGCHLD, signal.SIGHUP, signal.SIGUSR1)\n"
    "    before = [signal.getsignal(n) for n in numbers]\n"
    "    for n in numbers: signal.signal(n, signal.SIG_IGN)\n    return deny(repr(before))",
    "opens a file and keeps it": "import os\n" + SAYS + "    global HELD\n"
    "    before = 'HELD' in globals()\n    HELD = open(os.devnull)\n    return deny(repr(before))",
    "a file that finalisers remove": SAYS + "    global HELD\n    import os, tempfile\n"
    "    HELD = tempfile.NamedTemporaryFile(prefix='of_the_hook', dir='.')\n"
    "    return deny(str(len([n for n in os.listdir() if n.startswith('of_the_hook')])))",
    "random numbers": SAYS + "    import random; random.seed(1); return deny(str(random.random()))",
    "hooks.run() with arguments": "import sys\nhooks.run(['--agent', 'gemini'])\n"
    + SAYS
    + "    return deny('x')",
    "more behind hooks.run()": SAYS + "    return deny('x')\n\nhooks.run()\nprint('more')",
    "a function that runs": SAYS + "    return deny('x')\n\ndef main():\n    hooks.run()\nmain()",
    "catches everything": SAYS + "    return deny('x')\n\ntry:\n    hooks.run()\n"
    "except BaseException as error:\n    print('caught', error)",
    "sys.argv while loading": "import sys\nWORDS = sys.argv[1:]\n"
    + SAYS
    + "    return deny(repr(WORDS))",
    "the directory while loading": "import os\nHERE = os.getcwd()\n"
    + SAYS
    + "    return deny(HERE)",
    "sets handlers while loading": "import signal\n"
    "signal.signal(signal.SIGCHLD, lambda *_: None)\n"
    "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
    + SAYS
    + "    return deny(f'{callable(signal.getsignal(signal.SIGCHLD))}"
    " {signal.getsignal(signal.SIGTERM)!r}')",
    "atexit while loading": "import atexit, os\natexit.register(os.write, 2, b'at the end')\n"
    + SAYS
    + "    return deny('x')",
    "long": SAYS + "    return deny('ä' * 300_000)",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SAME)
def test_a_hook_sees_no_difference(warm, name):
    path = warm.hook(SAME[name])
    options = {"env": {"OF_THE_CALL": "7"}}

    expected = warm.cold(path, "--timeout", "9", **options)
    first = warm.warm(path, "--timeout", "9", **options)

    assert first == expected
    assert warm.run(path, "--timeout", "9", **options) == expected


@pytest.mark.slow
@pytest.mark.parametrize("payload", [b"", b"{", b"[1]", b'{"hook_event_name": "What"}', b"\xff"])
def test_a_hook_without_a_proper_event_ends_in_the_same_way(warm, payload):
    path = warm.hook(SAYS + "    return deny('x')")

    assert warm.warm(path, payload=payload) == warm.cold(path, payload=payload)


@pytest.mark.slow
def test_a_large_event_arrives_whole(warm):
    payload = {**WRITE, "tool_input": {"file_path": "a", "content": "x" * 5_000_000}}
    path = warm.hook(SAYS + "    return deny(str(len(event.text)))")

    assert "5000" in warm.warm(path, payload=payload)[1]
    assert warm.run(path, payload=payload) == warm.cold(path, payload=payload)


NOT_WARM = {
    "print('loading')": "prints while it is loaded",
    "import subprocess\nsubprocess.run(['true'])": "starts a program",
    "import threading as t\nt.Timer(9, int).start()": "starts a thread",
    "import os\nif os.fork() == 0: os._exit(0)": "starts a process",
    "HELD = open('/dev/null')": "keeps a file open",
    "import os\nos.chdir('/')": "changes the working directory",
    "import os\nos.umask(0)": "changes the umask",
    "import sys\nsys.argv.append('--timeout=9')": "changes sys.argv",
    "1 / 0": "fails while it is loaded (ZeroDivisionError)",
    "import sys\nsys.exit(4)": "fails while it is loaded (SystemExit)",
    "def more(:": "cannot be read (SyntaxError)",
    "hooks.run = print": "never calls hooks.run()",
}


@pytest.mark.slow
@pytest.mark.parametrize("text", NOT_WARM)
def test_a_file_that_cannot_be_warm_runs_cold_and_the_reason_is_reported(warm, text):
    path = warm.hook(text)
    warm.wake(path)

    assert warm.run(path) == warm.cold(path)
    assert NOT_WARM[text] in warm.server["reason"]
    assert any(NOT_WARM[text] in reason for reason in warm.reasons), warm.reasons


@pytest.mark.slow
def test_a_file_that_cannot_be_warm_is_not_loaded_again_for_each_event(warm):
    path = warm.hook("open('loaded', 'a').write('x')\nprint('loading')\n" + SAYS)
    path = warm.hook("with open('loaded', 'a') as f: f.write('x')\nprint('loading')\n")
    warm.wake(path)
    pid, size = warm.server["pid"], (warm.root / "loaded").stat().st_size

    for _ in range(3):
        warm.run(path)

    assert (warm.root / "loaded").stat().st_size == size + 3  # once for each cold run
    assert warm.server["pid"] == pid


@pytest.mark.slow
def test_a_file_that_could_not_be_warm_is_loaded_again_when_it_changes(warm):
    path = warm.hook("print('loading')\n" + SAYS + "    return deny('no')")
    warm.wake(path)
    assert warm.server["reason"]

    warm.hook(SAYS + "    return deny('no')")
    until(lambda: warm.run(path) and (warm.status(path) or {"reason": "x"})["reason"] is None)

    assert reason_of(warm.warm(path)) == "no"


@pytest.mark.slow
def test_a_missing_file_is_reported_in_the_same_way(warm):
    path = warm.root / "missing.py"
    for _ in range(3):
        assert warm.run(path) == warm.cold(path)
        assert warm.run(path) == (1, "", f"anyhook run: hook file not found: {path}\n")


@pytest.mark.slow
def test_what_a_hook_wrote_to_a_file_that_it_keeps_open_is_there_with_the_answer(warm):
    path = warm.hook(
        "LOG = None\n" + SAYS + "    global LOG\n    LOG = LOG or open('log.txt', 'a')\n"
        "    LOG.write('x')\n    return deny('no')"
    )
    for count in (1, 2, 3):
        assert warm.warm(path)[0] == 0
        assert (warm.root / "log.txt").read_text() == "x" * count


@pytest.mark.slow
def test_a_module_that_was_missing_counts_when_it_comes(warm):
    path = warm.hook(
        "try:\n    from rules import RULE\nexcept ImportError:\n    RULE = 'none'\n"
        + SAYS
        + "    return deny(RULE)"
    )
    assert reason_of(warm.warm(path)) == "none"

    (warm.root / "rules.py").write_text("RULE = 'some'")

    assert reason_of(warm.run(path)) == "some"
    assert reason_of(warm.warm(path)) == "some"


@pytest.mark.slow
def test_an_edit_while_the_file_is_being_loaded_counts(warm):
    waits = (
        "import os, time\nwith open('loading', 'a') as f: f.write('x')\n"
        "while not os.path.exists('go'): time.sleep(0.01)\n"
    )
    path = warm.hook(waits + SAYS + "    return deny('before')")
    process = warm.start(path)
    process.stdin.write(json.dumps(WRITE).encode())
    process.stdin.close()
    loading = warm.root / "loading"
    until(lambda: loading.exists() and loading.stat().st_size == 2)  # the client and the server

    warm.hook(SAYS + "    return deny('after it')")
    (warm.root / "go").touch()
    process.wait()
    process.stdout.close()
    process.stderr.close()

    assert reason_of(warm.run(path)) == "after it"
    assert reason_of(warm.warm(path)) == "after it"


@pytest.mark.slow
def test_a_hook_that_is_killed_never_allows(warm):
    path = warm.hook(
        SAYS + "    import os, signal, subprocess\n"
        "    if not os.path.exists('died.d'):\n        os.mkdir('died.d')\n"
        "        subprocess.Popen(['sleep', '3'], close_fds=False)\n"
        "        if os.fork() == 0: os.execvp('sleep', ['sleep', '3'])\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n    return deny('no')"
    )
    warm.wake(path)

    assert reason_of(warm.run(path)) == "no"
    assert until(lambda: any("killed by signal 9" in reason for reason in warm.reasons))


COUNT = "seen = []\n" + SAYS + "    seen.append(1)\n    return deny(str(len(seen)))"


def reason_of(end) -> str:
    return json.loads(end[1])["reason"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("seen.append(1)", "len(seen)"),
        ("signal.signal(signal.SIGUSR1, signal.SIG_IGN)", "signal.getsignal(signal.SIGUSR1)"),
        ("signal.pthread_sigmask(0, [12])", "signal.pthread_sigmask(0, [])"),
        ("signal.setitimer(signal.ITIMER_VIRTUAL, 600)", "signal.getitimer(signal.ITIMER_VIRTUAL)"),
        ("seen.append(open(__file__))", "[os.dup(0), len(os.listdir('/proc/self/fd'))]"),
        ("import words", "__import__('words').WORD"),
        ("os.environ['NEW'] = '1'", "os.environ.get('NEW')"),
        ("os.chdir('/')", "os.getcwd()"),
        ("os.umask(0o777)", "os.umask(0)"),
        ("sys.path.clear()", "len(sys.path)"),
        ("sys.setrecursionlimit(99)", "sys.getrecursionlimit()"),
        ("resource.setrlimit(0, (9, 9))", "resource.getrlimit(0)"),
        ("seen.append(os.popen('sleep 600'))", "os.waitid(0, 0, 4 | 1) if 0 else len(seen)"),
    ],
)
def test_an_event_sees_nothing_of_the_one_before(warm, first, second):
    (warm.root / "words.py").write_text("WORD = 'before'")
    path = warm.hook(
        "import os, resource, signal, sys\nseen = []\n"
        + SAYS
        + f"    if 'AKIA' not in event.text:\n        return deny(repr({second}))\n"
        f"    {first}\n    return deny('changed')"
    )
    look = {**WRITE, "tool_input": {"file_path": "a", "content": "b"}}
    expected = reason_of(warm.warm(path, payload=look))

    assert reason_of(warm.warm(path)) == "changed"

    assert reason_of(warm.warm(path, payload=look)) == expected


@pytest.mark.slow
def test_data_that_a_function_imports_is_read_anew_for_each_event(warm):
    (warm.root / "rules.py").write_text("RULES = open('rules.txt').read()")
    (warm.root / "rules.txt").write_text("before")
    path = warm.hook(SAYS + "    from rules import RULES; return deny(RULES)")
    assert reason_of(warm.warm(path)) == "before"

    (warm.root / "rules.txt").write_text("after it")

    assert reason_of(warm.run(path)) == "after it"


@pytest.mark.slow
def test_two_servers_of_one_file_serve_two_projects(warm):
    path = warm.hook(SAYS + "    import os; return deny(os.environ['CLAUDE_PROJECT_DIR'])")
    for project in ("/one", "/two", "/one"):
        assert reason_of(warm.warm(path, env={"CLAUDE_PROJECT_DIR": project})) == project

    assert len(warm.servers) == 2


@pytest.mark.slow
def test_a_server_answers_for_every_directory_and_all_arguments(warm):
    path = warm.hook(SAYS + "    import os, sys; return deny(f'{os.getcwd()} {sys.argv[1:]}')")
    other = warm.root / "other"
    other.mkdir()

    assert reason_of(warm.warm(path)) == f"{warm.root} []"
    assert reason_of(warm.run(path, cwd=other)) == f"{other} []"
    assert reason_of(warm.run(path, "--timeout", "5")) == f"{warm.root} ['--timeout', '5']"
    assert warm.server["events"]["warm"] >= 2


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        "HERE = open('here').read()",
        "import os; HERE = os.path.basename(os.getcwd())",
        "import pathlib; HERE = pathlib.Path.cwd().name",
    ],
)
def test_a_directory_that_loading_looked_at_makes_it_load_again(warm, text):
    path = warm.hook(text + "\n" + SAYS + "    return deny(HERE)")
    for name in ("one", "two"):
        (warm.root / name).mkdir()
        (warm.root / name / "here").write_text(name)

    for name in ("one", "two", "one"):
        assert reason_of(warm.run(path, cwd=warm.root / name)) == name
        assert reason_of(warm.warm(path, cwd=warm.root / name)) == name


@pytest.mark.slow
def test_arguments_that_loading_looked_at_make_it_load_again(warm):
    path = warm.hook("import sys\nWORDS = sys.argv[1:]\n" + SAYS + "    return deny(repr(WORDS))")
    for words in ([], ["--timeout", "9"], []):
        assert reason_of(warm.run(path, *words)) == repr(words)
        assert reason_of(warm.warm(path, *words)) == repr(words)


@pytest.mark.slow
def test_a_variable_of_one_call_never_reaches_another(warm):
    path = warm.hook(
        SAYS + "    import os, subprocess\n"
        "    child = subprocess.run(['env'], capture_output=True, text=True).stdout\n"
        "    return deny(f\"{os.environ.get('SECRET')} {'SECRET' in child}\")"
    )

    assert reason_of(warm.warm(path, env={"SECRET": "s3"})) == "s3 True"
    assert reason_of(warm.warm(path)) == "None False"
    with open(f"/proc/{warm.server['pid']}/environ", "rb") as file:
        environ = file.read()
    assert b"ANYHOOK_RUNTIME_DIR" not in environ  # not even that of the client that started it
    assert b"SECRET" not in environ


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        "import os\nMODE = os.environ.get('MODE')\n",
        "from os import environ, getenv\nMODE = getenv('MODE')\n",
        "import os\nMODE = dict(os.environ).get('MODE')\n",
        "import os\nMODE = 'MODE' in os.environ and os.environb[b'MODE'].decode() or None\n",
    ],
)
def test_a_variable_that_the_file_looked_at_while_loading_makes_it_load_again(warm, text):
    path = warm.hook(text + SAYS + "    return deny(f'{MODE}')")

    for env, expected in (({}, "None"), ({"MODE": "strict"}, "strict"), ({}, "None")):
        assert reason_of(warm.run(path, env=env)) == expected
        assert reason_of(warm.warm(path, env=env)) == expected


EDITS = {
    "the file": ("hook.py", "", "'{}'"),
    "a module": ("words.py", "import words\n", "words.WORD"),
    "a module that is not kept": (
        "words.py",
        """
from importlib.util import module_from_spec, spec_from_file_location
import os
path = os.path.join(os.path.dirname(__file__), "words.py")
spec = spec_from_file_location("words", path)
words = module_from_spec(spec)
spec.loader.exec_module(words)
""",
        "words.WORD",
    ),
    "a module that a function imports": ("words.py", "", "__import__('words').WORD"),
    "data": ("words.py", "with open('words.py') as f: TEXT = f.read()\n", 'TEXT.split("\'")[1]'),
    "data that is opened for writing, too": (
        "words.py",
        "with open('words.py', 'r+') as f: TEXT = f.read()\n",
        'TEXT.split("\'")[1]',
    ),
    "data by its descriptor": (
        "words.py",
        "import os\nfd = os.open('words.py', 0)\nTEXT = os.read(fd, 99).decode()\nos.close(fd)\n",
        'TEXT.split("\'")[1]',
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("what", EDITS)
def test_an_edit_counts_at_once(warm, what):
    name, start, value = EDITS[what]

    def write(word):
        (warm.root / "words.py").write_text(f"WORD = '{word}'")
        if word == "before" or name == "hook.py":
            warm.hook(start + SAYS + f"    return deny({value.format(word)})")

    write("before")
    path = warm.root / "hook.py"
    assert reason_of(warm.warm(path)) == "before"

    write("after it")

    assert reason_of(warm.run(path)) == "after it"
    assert reason_of(warm.warm(path)) == "after it"


@pytest.mark.slow
def test_an_edit_counts_at_once_where_byte_code_does_not_show_it(warm):
    module = warm.root / "lib" / "words.py"
    module.parent.mkdir()
    body = f"import sys\nsys.path.insert(0, {str(module.parent)!r})\nfrom words import WORD\n"
    path = warm.hook(body + SAYS + "    return deny(WORD)", ".anyhook/hook.py")
    env = {"PYTHONDONTWRITEBYTECODE": ""}

    def write(word):
        # As if the file had been written, run and written again within one second. The server may
        # look at any time, so the file gets its content and its time at once.
        edited = warm.root / "edited.py"
        edited.write_text(f"WORD = '{word}'")
        for file in (edited, *module.parent.glob("__pycache__/*")):
            os.utime(file, (1_000_000_000, 1_000_000_000))
        edited.replace(module)

    write("first")
    assert reason_of(warm.cold(path, env=env)) == "first"
    assert list(module.parent.glob("__pycache__/*"))
    write("other")

    assert reason_of(warm.warm(path, env=env)) == "other"
    write("third")
    assert reason_of(warm.run(path, env=env)) == "third"
    assert reason_of(warm.warm(path, env=env)) == "third"


@pytest.mark.slow
def test_a_database_that_was_read_while_loading_counts_when_it_changes(warm):
    import sqlite3

    def write(word):
        with sqlite3.connect(warm.root / "rules.db") as database:
            database.execute("create table if not exists rules (word)")
            database.execute("delete from rules")
            database.execute("insert into rules values (?)", [word])
        database.close()

    write("before")
    path = warm.hook(
        "import sqlite3\ndb = sqlite3.connect('rules.db')\n"
        "(RULE,) = db.execute('select word from rules').fetchone()\ndb.close()\n"
        + SAYS
        + "    return deny(RULE)"
    )
    assert reason_of(warm.warm(path)) == "before"

    write("after it")

    assert reason_of(warm.run(path)) == "after it"


@pytest.mark.slow
@pytest.mark.parametrize(
    "question",
    [
        "import os\nIS_THERE = os.path.exists('rules.txt')\n",
        "import os\nIS_THERE = os.access('rules.txt', os.R_OK)\n",
        (
            "from os import stat\ntry:\n    IS_THERE = bool(stat('rules.txt'))\n"
            "except OSError:\n    IS_THERE = False\n"
        ),
        "from pathlib import Path\nIS_THERE = Path('rules.txt').is_file()\n",
        (
            "from pathlib import Path\nHERE = Path(__file__).resolve().parent\n"
            "IS_THERE = (HERE / 'rules.txt').exists()\n"
        ),
        "import shutil\nIS_THERE = shutil.which('./rules.txt', mode=0) is not None\n",
    ],
)
def test_a_file_that_loading_asked_for_counts_when_it_comes_and_goes(warm, question):
    path = warm.hook(question + SAYS + "    return deny(str(IS_THERE))")
    rules = warm.root / "rules.txt"
    assert reason_of(warm.warm(path)) == "False"

    rules.write_text("some")
    assert reason_of(warm.run(path)) == "True"
    assert reason_of(warm.warm(path)) == "True"

    rules.unlink()
    assert reason_of(warm.run(path)) == "False"


@pytest.mark.slow
def test_a_hook_that_asks_for_its_own_log_stays_warm(warm):
    path = warm.hook(
        "from pathlib import Path\nLOG = Path('calls.log')\nSIZE = LOG.exists()\n"
        + SAYS
        + "    with LOG.open('a') as log:\n        log.write('x')\n    return deny(str(SIZE))"
    )
    (warm.root / "calls.log").touch()
    warm.warm(path)
    before = warm.server["events"]["warm"]

    for _ in range(3):
        assert reason_of(warm.run(path)) == "True"

    assert warm.server["events"]["warm"] == before + 3


@pytest.mark.slow
def test_a_function_of_os_that_a_warm_hook_holds_can_be_sent_to_another_process(warm):
    path = warm.hook(
        "import pickle\nfrom os import stat\n"
        + SAYS
        + "    return deny(str(pickle.loads(pickle.dumps(stat))('.').st_ino))"
    )
    inode = str(warm.root.stat().st_ino)
    assert reason_of(warm.warm(path)) == inode

    assert reason_of(warm.run(path)) == inode


@pytest.mark.slow
def test_a_hook_that_asks_for_very_many_files_runs_cold(warm):
    path = warm.hook(
        "import os\nCOUNT = sum(map(os.path.exists, map(str, range(1001))))\n"
        + SAYS
        + "    return deny(str(COUNT))"
    )
    for _ in range(3):
        assert reason_of(warm.run(path)) == "0"

    (warm.root / "7").touch()
    assert reason_of(warm.run(path)) == "1"


@pytest.mark.slow
def test_another_file_in_the_project_keeps_a_hook_warm_that_asks_where_it_is(warm):
    path = warm.hook(
        "import shutil\nfrom pathlib import Path\nHERE = Path(__file__).resolve().parent\n"
        "IS_SAFE = shutil.rmtree.avoids_symlink_attacks\n" + SAYS + "    return deny(str(IS_SAFE))"
    )
    warm.warm(path)
    before = warm.server["events"]["warm"]

    (warm.root / "unrelated.txt").write_text("some")

    assert reason_of(warm.run(path)) == "True"
    assert warm.server["events"]["warm"] == before + 1


@pytest.mark.slow
def test_a_file_that_was_not_there_while_loading_counts_when_it_comes(warm):
    path = warm.hook(
        "try:\n    RULES = open('rules.txt').read()\nexcept OSError:\n    RULES = 'none'\n"
        + SAYS
        + "    return deny(RULES)"
    )
    assert reason_of(warm.warm(path)) == "none"

    (warm.root / "rules.txt").write_text("some")

    assert reason_of(warm.run(path)) == "some"
    assert reason_of(warm.warm(path)) == "some"


@pytest.mark.slow
def test_an_edit_that_breaks_the_file_ends_as_a_cold_hook_does(warm):
    path = warm.hook(SAYS + "    return deny('x')")
    warm.warm(path)

    path.write_text("(")

    assert warm.run(path) == warm.cold(path)


@pytest.mark.slow
def test_a_hook_that_is_too_slow_ends_as_its_author_chose(warm):
    path = warm.hook(
        "hooks = Hooks(timeout=0.2, on_crash='deny')\n" + SAYS + "    while True: pass"
    )

    expected = warm.cold(path)
    assert "ran out of time" in expected[1]
    assert warm.warm(path) == expected
    assert warm.run(path) == expected


@pytest.mark.slow
def test_a_client_that_is_ended_takes_its_hook_with_it(warm):
    path = warm.hook(
        SAYS + "    import os\n    open(f'begun-{os.getpid()}', 'w').close()\n    while True: pass"
    )
    warm.wake(path)
    process = warm.start(path)
    process.stdin.write(json.dumps(WRITE).encode())
    process.stdin.close()
    child = warm.child(path)
    until((warm.root / f"begun-{child}").exists)

    process.kill()
    process.wait()
    process.stdout.close()
    process.stderr.close()

    until(lambda: not is_running(child))
    until(lambda: not warm.running(path))


def test_hooks_of_one_file_run_side_by_side(warm):
    path = warm.hook(
        SAYS + "    import os, time\n    open(f'here-{os.getpid()}', 'w').close()\n"
        "    while len([n for n in os.listdir() if n.startswith('here-')]) < 5: time.sleep(0.01)\n"
        "    return deny('all here')"
    )
    warm.wake(path)

    started = [warm.start(path) for _ in range(5)]
    for process in started:
        process.stdin.write(json.dumps(WRITE).encode())
        process.stdin.close()
    ends = [(process.stdout.read(), process.wait()) for process in started]
    for process in started:
        process.stdout.close()
        process.stderr.close()

    assert [json.loads(out)["reason"] for out, _ in ends] == ["all here"] * 5


@pytest.mark.slow
def test_an_answer_that_nobody_reads_still_denies(warm):
    path = warm.hook(SAYS + "    return deny('x')")
    warm.wake(path)
    for _ in range(2):
        process = warm.start(path)
        process.stdout.close()
        process.stdin.write(json.dumps(WRITE).encode())
        process.stdin.close()
        assert process.wait() == 2
        assert process.stderr.read() == b"x\n"
        process.stderr.close()


@pytest.mark.slow
def test_the_command_of_the_package_reaches_the_same_server(warm):
    path = warm.hook(COUNT)
    assert reason_of(warm.warm(path)) == "1"
    pid = warm.server["pid"]

    warm.client = [os.path.join(os.path.dirname(sys.executable), "anyhook"), "run"]

    assert reason_of(warm.warm(path)) == "1"
    assert warm.server["pid"] == pid


@pytest.mark.slow
def test_every_agent_is_served_by_the_same_file(warm):
    path = warm.hook(SAYS + "    return deny('no')")
    for agent in ("gemini", "claude", "terminai"):
        payload = make_payload("before_tool", agent=agent, tool="shell", input={"command": "ls"})
        assert warm.warm(path, payload=payload) == warm.cold(path, payload=payload)


IMPORTS = """
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from anyhook.authoring import replace_result
names, server = [], os.getpid()

def note(what, args):
    if what == "import" and os.getpid() != server:
        names.append(args[0])

sys.addaudithook(note)

@hooks.before_tool
@hooks.after_tool
@hooks.before_prompt
def read(event):
    for name in dir(event):
        value = getattr(event, name, None)
        if name in {"contacts", "deletes", "reads", "runs", "writes"}:
            value("src/*.py")
    return replace_result("nothing") if event.name == "after_tool" else deny("no")

import atexit
atexit.register(lambda: print("imported:", names, file=sys.stderr))
"""


@pytest.mark.slow
@pytest.mark.parametrize("agent", CODING_AGENTS)
def test_a_warm_event_imports_nothing(warm, agent):
    """A child would import it again at each event, which takes longer than the event."""
    path = warm.hook(IMPORTS)
    for event, fields in {
        "before_tool": {"tool": "shell", "input": {"command": "cd src && rm -rf a | tee b"}},
        "after_tool": {"tool": "shell", "input": {"command": "ls"}},
        "before_prompt": {"prompt": "Delete src."},
    }.items():
        if event in get_agent(agent).by_canonical:
            payload = make_payload(event, agent=agent, **fields)

            _, _, err = warm.warm(path, "--agent", agent, payload=payload)

            assert "imported: []" in err


@pytest.mark.slow
def test_each_child_reads_the_command_line_of_the_sample(warm):
    """What its server read is known to it, and its own pages would be copied during an event."""
    cache = "from anyhook.shell import commands; return deny(str(commands._read.cache_info()))"
    path = warm.hook(f"{SAYS}    {cache}")
    warm.wake(path)

    until(lambda: "hits=0, misses=1" in reason_of(warm.run(path)), "no child has rehearsed")


CONNECTS = f"""
import os, sys, time
processes = set()

def note(what, args):
    if what == "socket.connect":
        processes.add(os.getpid())

sys.addaudithook(note)

{SAYS}
    time.sleep(0.1)  # both children are busy, so the other clients wait for new ones
    return deny("rehearsed" if os.getpid() in processes else "not rehearsed")
"""
"""A rehearsal connects the process with itself."""


@pytest.mark.slow
def test_a_child_answers_a_client_that_waits_without_a_rehearsal(warm):
    """Of many events at once, those that find no child would wait twice."""
    path = warm.hook(CONNECTS)
    warm.wake(path)

    def answers():
        with ThreadPoolExecutor(8) as pool:
            return {*pool.map(lambda _: reason_of(warm.run(path)), range(8))}

    # Under load the first events may come before the children have rehearsed.
    until(lambda: answers() == {"rehearsed", "not rehearsed"})


@pytest.mark.slow
def test_a_warm_async_function_imports_nothing(warm):
    path = warm.hook(IMPORTS.replace("def read", "async def read"))

    _, _, err = warm.warm(path)

    assert "imported: []" in err


@pytest.mark.slow
def test_a_thread_that_the_interpreter_starts_with_keeps_a_hook_cold(warm):
    (warm.root / "sitecustomize.py").write_text(
        "import threading\nthreading.Thread(target=threading.Event().wait, daemon=True).start()\n"
    )
    path = warm.hook(SAYS + "    import threading; return deny(str(threading.active_count()))")
    env = {"PYTHONPATH": str(warm.root)}

    warm.wake(path, env=env)

    assert reason_of(warm.run(path, env=env)) == "2"
    assert "starts a thread" in warm.server["reason"]
