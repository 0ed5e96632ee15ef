"""Who may use the page: only a browser that was opened with the first address."""

from __future__ import annotations

import re
import stat
from pathlib import Path

import httpx
import pytest

from anyhook.cli.serve import entrance
from anyhook.journal.lines import history_directory
from tests.page.serving import event, store

VIEWS = ["/", "/sessions", "/event/1", "/search?q=ls", "/live", "/backtests", "/static/page.js"]


@pytest.fixture
def page(serve):
    store(event())
    return serve()


@pytest.mark.parametrize("path", VIEWS)
def test_nothing_is_shown_without_the_first_address(page, path):
    response = httpx.get(page.url + path)

    assert response.status_code == 403
    assert "with its token" in response.text


def test_the_first_address_sets_a_cookie_that_scripts_cannot_read(page):
    response = page.client.get(page.first)

    assert response.status_code == 200
    assert 'content="0;url=/"' in response.text
    cookie = response.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert page.first.partition("=")[2] not in cookie
    assert page.client.get("/").status_code == 200


def test_a_wrong_token_is_refused(page):
    assert httpx.get(page.url + "/?token=wrong").status_code == 403


@pytest.mark.parametrize("path", ["//example.com/", "/%5Cexample.com/", "///example.com"])
def test_the_first_address_does_not_lead_to_another_host(page, path):
    query = page.first.partition("?")[2]

    response = page.client.get(f"{page.url}{path}?{query}")

    address = re.search(r'href="([^"]*)"', response.text)[1]
    assert re.match(r"/[^/\\\\]", address)


def test_the_browser_is_started_without_the_token_in_its_arguments(tmp_path):
    file = entrance(tmp_path, "http://127.0.0.1:1/?token=secret")

    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert "secret" not in file.as_uri()
    assert "http://127.0.0.1:1/?token=secret" in file.read_text()


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1", "user@127.0.0.1"]
)
def test_a_foreign_name_that_leads_here_is_refused(page, host):
    page.open()

    response = page.client.get("/", headers={"Host": host.format(port=page.port)})

    assert response.status_code == 403
    assert "Host" in response.text


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "[::1]"])
def test_the_names_of_this_machine_are_accepted(page, host):
    page.open()
    own = f"{host}:{page.port}"

    response = page.client.get("/", headers={"Host": own, "Origin": f"http://{own}"})

    assert response.status_code == 200


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://127.0.0.1:{port}"])
def test_a_page_of_another_site_is_refused(page, origin):
    page.open()

    response = page.client.get("/", headers={"Origin": origin.format(port=page.port)})

    assert response.status_code == 403


@pytest.mark.parametrize("path", ["/live", "/live?agent=gemini&id=s1", "/session?id=s1"])
def test_a_page_of_another_site_gets_no_events(page, path):
    page.open()

    foreign = page.client.get(path, headers={"Origin": "http://evil.example"})
    without = httpx.get(page.url + path)

    assert foreign.status_code == without.status_code == 403
    assert "ls" not in foreign.text + without.text
    assert "access-control-allow-origin" not in foreign.headers


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_a_request_that_another_site_caused_is_refused(page, site):
    page.open()

    assert page.client.get("/", headers={"Sec-Fetch-Site": site}).status_code == 403


@pytest.mark.parametrize("token", ["", "wrong"])
def test_a_form_without_the_token_of_the_page_changes_nothing(page, token):
    page.open()

    response = page.client.post("/switch", data={"token": token, "hook": "guard"})

    assert response.status_code == 403
    assert "out of date" in response.text


def test_a_form_without_an_origin_changes_nothing(page):
    page.open()
    del page.client.headers["Origin"]

    assert page.client.post("/switch", data={"token": page.form_token}).status_code == 403


def test_a_form_that_is_too_large_is_refused(page):
    page.open()

    response = page.client.post("/switch", data={"token": "x" * 100_000})

    assert response.status_code == 413


def test_every_answer_restricts_what_a_page_may_do(page):
    for response in (page.open().client.get("/"), httpx.get(page.url)):
        policy = response.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert response.headers["x-frame-options"] == "DENY"
        assert response.headers["cache-control"] == "no-store"
        assert response.headers["referrer-policy"] == "same-origin"


def test_no_view_names_another_host(page):
    page.open()
    for path in ("/", "/sessions", "/hooks", "/search", "/backtests", "/problems", "/denials"):
        text = page.get(path)
        assert "://" not in text.replace("http://www.w3.org/", ""), path


@pytest.mark.slow
def test_the_cookie_stays_valid_when_the_server_is_started_again(command):
    page = command().open()
    cookies = page.client.cookies
    assert page.interrupt() == 0

    again = command(page.port)

    assert httpx.get(again.url, cookies=cookies).status_code == 200
    assert again.first != page.first


def test_the_cookie_of_another_port_is_refused(page, serve):
    page.open()
    (value,) = page.client.cookies.values()
    other = serve()

    response = httpx.get(other.url, cookies={f"anyhook-{other.port}": value})

    assert response.status_code == 403


def test_the_secret_is_readable_for_the_user_only(page):
    secret = Path(history_directory()) / "ui-secret"

    assert stat.S_IMODE(secret.stat().st_mode) == 0o600


@pytest.mark.slow
def test_ctrl_c_ends_the_page_while_a_browser_shows_it(command):
    store(event())
    page = command().open()

    with page.client.stream("GET", "/live") as stream:
        assert next(stream.iter_lines())
        assert page.interrupt() == 0
