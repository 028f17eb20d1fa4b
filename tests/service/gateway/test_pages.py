"""The console's files, as the gateway serves them."""

import re

import pytest

from service.gateway.pages import pages


def test_the_page_is_served_to_everybody_under_a_policy_without_inline_or_foreign_code(served):
    page = served.http.get("/")
    assert page.status_code == 200
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    policy = page.headers["content-security-policy"]
    assert policy.startswith("default-src 'self'; ")
    assert "unsafe" not in policy
    assert page.headers.get_list("content-security-policy") == [policy]
    assert page.headers["x-content-type-options"] == "nosniff"
    assert "no-store" not in page.headers["cache-control"]


def test_a_file_that_the_browser_has_is_not_sent_again(served):
    first = served.http.get("/console/main.js")
    assert first.headers["content-type"] == "text/javascript; charset=utf-8"
    again = served.http.get("/console/main.js", headers={"If-None-Match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    other = served.http.get("/console/main.js", headers={"If-None-Match": '"other"'})
    assert other.content == first.content


@pytest.mark.parametrize(
    "path",
    [
        "/console/",
        "/console/nothing.js",
        "/console/__init__.py",
        "/console/..%2f__init__.py",
        "/console/..%2F..%2F..%2Fetc%2Fpasswd",
        "/console/%2Fetc%2Fpasswd",
        "/console/main.js%00.html",
        "/console/sub/main.js",
    ],
)
def test_nothing_but_the_files_of_the_console_is_served(served, path):
    assert served.http.get(path).status_code == 404


def test_files_name_only_files_that_are_served():
    for name, page in pages().items():
        text = page.body.decode()
        named = re.findall(r'(?:from "\./|(?:href|src)="/console/)([^"]+)"', text)
        assert {*named} <= pages().keys(), name
    assert "index.html" in pages()


def test_no_file_makes_markup_or_code_of_text():
    for name, page in pages().items():
        found = re.search(
            rb"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function"
            rb"|https?://(?!www\.w3\.org/2000/svg)",
            page.body,
        )
        assert found is None, (name, found)
