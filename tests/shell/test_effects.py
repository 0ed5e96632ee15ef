"""What commands read, write, delete and contact."""

from __future__ import annotations

from anyhook.shell import read_commands
from tests.tables import each


def effects(line, kind):
    commands = read_commands(line, home="/home/ada", cwd="/work")
    return [path for command in commands for path in getattr(command, kind)]


@each(
    "line, paths",
    [
        ("rm a ../b ~/c '/d e'", ["/work/a", "/b", "/home/ada/c", "/d e"]),
        ("mv a b", ["/work/a"]),
        ("mv -t dir a", ["/work/a"]),
        ("find src -name '*.o' -delete", ["/work/src/**/*.o"]),
        ("find src -type f", []),
        ("find src -exec rm {} ';'", ["/work/src/**"]),
        ("git rm -r src", ["/work/src"]),
        ("git rm --cached src", []),
        ("git clean -fdx", ["/work"]),
        ("git clean -n", []),
        ("git -C app clean -f", ["/work/app"]),
        ("rsync -a --delete a/ b", ["/work/b"]),
        ("rsync -a --delete a/ host:b", []),
        ("shred -u a", ["/work/a"]),
        ("gzip a", ["/work/a"]),
        ("gzip -k a", []),
        ("tar czf a.tgz --remove-files src", ["/work/src"]),
        ("perl -e 'unlink \"a\"'", ["/work/a"]),
        ("python3 -c 'import shutil; shutil.rmtree(\"a\")'", ["/work/a"]),
        ("node -e 'fs.rmSync(\"a\")'", ["/work/a"]),
        ("echo a b | xargs rm", ["/work/a", "/work/b"]),
        ("echo rm a", []),
    ],
)
def test_deleted_paths(line, paths):
    assert effects(line, "deleted_paths") == paths


@each(
    "line, paths",
    [
        ("x > a 2>> b < c", ["/work/a", "/work/b"]),
        ("x &> a", ["/work/a"]),
        ("x > /dev/null 2>&1", []),
        ("{ x; y; } > a", ["/work/a"]),
        ("> a", ["/work/a"]),
        ("tee -a a < b", ["/work/a"]),
        ("cp a b", ["/work/b", "/work/b/a"]),
        ("cp -t dir a", ["/work/dir"]),
        ("sed -i s/a/b/ x", ["/work/x"]),
        ("sed s/a/b/ x", []),
        ("sed -n 'w out' x", ["/work/out"]),
        ("dd if=a of=b", ["/work/b"]),
        ("truncate -s 0 a", ["/work/a"]),
        ("chmod 600 a", ["/work/a"]),
        ("curl -o a https://example.com/x", ["/work/a"]),
        ("curl -O https://example.com/x.sh", ["/work/x.sh"]),
        ("wget -P dir https://example.com/x.sh", ["/work/dir", "/work/dir/x.sh"]),
        ("tar xf a.tar -C dir", ["/work/dir"]),
        ("git reset --hard", ["/work"]),
        ('python3 -c \'open("a", "w")\'', ["/work/a"]),
        ("cat <<E > a\ntext > b\nE", ["/work/a"]),
    ],
)
def test_written_paths(line, paths):
    assert effects(line, "written_paths") == paths


@each(
    "line, paths",
    [
        ("cat a", ["/work/a"]),
        ("x < a", ["/work/a"]),
        ("grep -r key .", ["/work"]),
        ("grep -e key a", ["/work/a"]),
        ("grep key a", ["/work/a"]),
        ("rg key", ["/work"]),
        ("curl -d @a -F file=@b https://example.com", ["/work/a", "/work/b"]),
        ("curl -T a https://example.com", ["/work/a"]),
        ("scp a host:b", ["/work/a"]),
        ("tar czf a.tgz b", ["/work/b"]),
        ("awk '{ print }' a", ["/work/a"]),
        ("dd if=a", ["/work/a"]),
        ("python3 a.py", ["/work/a.py"]),
        ("git diff a", []),
    ],
)
def test_read_paths(line, paths):
    assert effects(line, "read_paths") == paths


@each(
    "line, hosts",
    [
        ("curl https://user@Example.com:8080/x?y", ["example.com"]),
        ("curl example.com/x", ["example.com"]),
        ("curl 'https://good.example\\@evil.example/'", ["good.example", "evil.example"]),
        ("wget -q ftp://example.com/x", ["example.com"]),
        ("ssh -p 22 ada@example.com ls", ["example.com"]),
        ("scp a ada@example.com:b", ["example.com"]),
        ("rsync -a a example.com::b", ["example.com"]),
        ("git push git@example.com:a/b.git", ["example.com"]),
        ("git clone https://example.com/a", ["example.com"]),
        ("nc example.com 80", ["example.com"]),
        ("echo x > /dev/tcp/example.com/80", ["example.com"]),
        ("psql -h example.com", ["example.com"]),
        ("python3 -c 'urlopen(\"https://example.com/\")'", ["example.com"]),
        ("echo https://example.com", []),
    ],
)
def test_hosts(line, hosts):
    assert effects(line, "hosts") == hosts
