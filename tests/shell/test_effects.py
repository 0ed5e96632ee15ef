"""What commands read, write, delete and contact."""

from __future__ import annotations

from anyhook.shell import read_commands
from tests.tables import each

PATCH = "*** Begin Patch\n*** Update File: a\n*** Move to: b\n*** Delete File: c\n*** End Patch"


DIFF = "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-x\n+y\n--- b/b\t2026\n+++ /dev/null\n--- c/d\n+++ c/d\n"


def effects(line, kind):
    commands = read_commands(line, home="/home/ada", cwd="/code")
    return [path for command in commands for path in getattr(command, kind)]


@each(
    "line, paths",
    [
        ("rm a ../b ~/c '/d e'", ["/code/a", "/b", "/home/ada/c", "/d e"]),
        ("mv a b", ["/code/a"]),
        ("mv -t dir a", ["/code/a"]),
        ("mv /* /", []),
        ("mv /x/a /x/ && mv /x/a b /x", ["/code/b"]),
        ("mv /x*/a '/x*'", ["/x*/a"]),
        ("mv -t dir /x/a /x", ["/x/a", "/x"]),
        ("find src -name '*.o' -delete", ["/code/src/**/*.o"]),
        ("find src ! -name '*.o' -delete", ["/code/src"]),
        ("find src -name a , -name b -delete", ["/code/src"]),
        ("find src -delete -name a", ["/code/src"]),
        ("find src -type f", []),
        ("find src -exec rm {} ';'", ["/code/src", "/code/src/**"]),
        ("find src -mtime +9 -exec rm {} ';'", ["/code/src/**"]),
        ("cd lib && echo a | xargs rm", ["/code/lib/a"]),
        ("cd lib | rm a", ["/code/a"]),
        ("git rm -r src", ["/code/src"]),
        ("git rm --cached src", []),
        ("git clean -fdx", ["/code"]),
        ("git clean -n", []),
        ("git -C app clean -f", ["/code/app"]),
        ("rsync -a --delete a/ b", ["/code/b"]),
        ("rsync -a --delete a/ host:b", []),
        ("rsync -an --delete a/ b", []),
        ("shred -u a", ["/code/a"]),
        ("gzip a", ["/code/a"]),
        ("gzip -k a", []),
        ("tar czf a.tgz --remove-files src", ["/code/src"]),
        ("perl -e 'unlink \"a\"'", ["/code/a"]),
        ("python3 -c 'import shutil; shutil.rmtree(\"a\")'", ["/code/a"]),
        ("node -e 'fs.rmSync(\"a\")'", ["/code/a"]),
        ("python3 -m rimraf a", ["/code/a"]),
        ("node -p 'fs.rmSync(\"a\")'", ["/code/a"]),
        ("bun -e 'fs.rmSync(\"a\")'", ["/code/a"]),
        ("bun x rimraf a", ["/code/a"]),
        ("deno eval --ext=ts 'Deno.removeSync(\"a\")'", ["/code/a"]),
        ("lua -e 'os.remove(\"a\")'", ["/code/a"]),
        ("Rscript -e 'unlink(\"a\")'", ["/code/a"]),
        ("D=$(mktemp -d); rm -rf $D", ["/tmp/tmp.XXXXXXXXXX"]),
        ("TMPDIR=lib; rm -rf $(mktemp -d)", ["/code/$(mktemp -d)"]),
        ("mktemp() { echo /; }; rm -rf $(mktemp -d)", ["/code/$(mktemp -d)"]),
        ("PATH=.:$PATH; rm -rf $(mktemp -d)", ["/code/$(mktemp -d)"]),
        ("echo() { printf /etc; }; rm $(echo a)", ["/code/$(echo a)"]),
        ("alias echo='printf /etc'\nrm $(echo a)", ["/code/$(echo a)"]),
        ("f() { :; }; rm $(echo a)", ["/code/a"]),
        ("echo a b | xargs rm", ["/code/a", "/code/b"]),
        ("echo rm a", []),
        ("f() { :; }; D=src; rm $D", ["/code/src"]),
        ("f() ( : ); D=src; rm $D", ["/code/src"]),
        ("f() while x; do y; done; D=src; rm $D", ["/code/src"]),
        ("f() { if x; then D=lib; fi; }; D=src; rm $D", ["/code/$D"]),
        ("while x; do { D=lib; }; done; rm $D", ["/code/$D"]),
        (f"cd src && apply_patch <<'EOF'\n{PATCH}\nEOF\n", ["/code/src/a", "/code/src/c"]),
        (f"apply_patch '{PATCH}'", ["/code/a", "/code/c"]),
        ("cat a | apply_patch", ["/code/$path"]),
        (f"git apply <<'EOF'\n{DIFF}EOF\n", ["/code/b"]),
    ],
)
def test_deleted_paths(line, paths):
    assert effects(line, "deleted_paths") == paths


@each(
    "line, paths",
    [
        ("x > a 2>> b < c", ["/code/a", "/code/b"]),
        ("x &> a", ["/code/a"]),
        (f"patch -p1 <<'EOF'\n{DIFF}EOF\n", ["/code/a", "/code/c/d", "/code/d"]),
        (f"git apply <<'EOF'\n{DIFF}EOF\n", ["/code/a", "/code/c/d", "/code/d"]),
        ("x > /dev/null 2>&1", []),
        ("{ x; y; } > a", ["/code/a"]),
        ("> a", ["/code/a"]),
        ("tee -a a < b", ["/code/a"]),
        ("cp a b", ["/code/b", "/code/b/a"]),
        ("cp -t dir a", ["/code/dir"]),
        ("sed -i s/a/b/ x", ["/code/x"]),
        ("sed s/a/b/ x", []),
        ("sed -n 'w out' x", ["/code/out"]),
        ("dd if=a of=b", ["/code/b"]),
        ("f() { dd $@; }", ["/code/$@"]),
        ("wipefs -a /dev/sdb", ["/dev/sdb"]),
        ("wipefs /dev/sdb", []),
        ("truncate -s 0 a", ["/code/a"]),
        ("chmod 600 a", ["/code/a"]),
        ("f() { chmod $@; }", ["/code/$@"]),
        ("rsync -an a/ b", []),
        ("curl -o a https://example.com/x", ["/code/a"]),
        ("curl -O https://example.com/x.sh", ["/code/x.sh"]),
        ("wget -P dir https://example.com/x.sh", ["/code/dir", "/code/dir/x.sh"]),
        ("tar xf a.tar -C dir", ["/code/dir"]),
        ("git reset --hard", ["/code"]),
        ('python3 -c \'open("a", "w")\'', ["/code/a"]),
        ("cat <<E > a\ntext > b\nE", ["/code/a"]),
        ("perl -pi -e s/a/b/ a b", ["/code/a", "/code/b"]),
        ("perl -ne print a", []),
        ("awk '{print $1 > \"a\"}' b", ["/code/a"]),
        ("awk '$1 > \"a\"' b", []),
    ],
)
def test_written_paths(line, paths):
    assert effects(line, "written_paths") == paths


@each(
    "line, paths",
    [
        ("cat a", ["/code/a"]),
        ("x < a", ["/code/a"]),
        ("grep -r key .", ["/code"]),
        ("grep -e key a", ["/code/a"]),
        ("grep key a", ["/code/a"]),
        ("rg key", ["/code"]),
        ("curl -d @a -F file=@b https://example.com", ["/code/a", "/code/b"]),
        ("curl -T a https://example.com", ["/code/a"]),
        ("curl --cert a --key b https://example.com", []),
        ("ssh -i a host", []),
        ("scp -i key a host:b", ["/code/a"]),
        ("cp --attributes-only a b", []),
        ("yq eval-all .key a", ["/code/a"]),
        ("tar czf a.tgz b", ["/code/b"]),
        ("awk '{ print }' a", ["/code/a"]),
        ("dd if=a", ["/code/a"]),
        ("python3 a.py", ["/code/a.py"]),
        ("git diff a", []),
        ("git diff .a b/.c", ["/code/.a", "/code/b/.c"]),
        ("git log -p -- .a", ["/code/.a"]),
        ("git log --oneline -- .a", []),
        ("cat $(which a) $(which ./b)", ["/usr/bin/a", "/code/b"]),
        ('D=a; cat "${D:?}/b" "${D:-/x}" "${D=x}"', ["/code/a/b", "/code/a"]),
        ('D=; cat "${D:-x}"', ["/code/${D:-x}"]),
        ("git diff --no-index a b", ["/code/a", "/code/b"]),
        ("git blame a", ["/code/a"]),
        ("git grep x a", ["/code/a"]),
        ("git show HEAD:a main", ["/code/a"]),
        ("xargs -a a echo", ["/code/a"]),
        ("awk 'BEGIN{while ((getline l < \"a\") > 0) print l}'", ["/code/a"]),
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
