"""The pages hang together: links lead somewhere, and every page can be reached."""

import pytest

from tests.docs.markdown_pages import LANGUAGES, ROOT, pages

PAGES = {page.path: page for page in pages()}
MOST_WORDS = 900  # of the README, as `wc -w` counts them


@pytest.mark.parametrize("page", PAGES.values(), ids=lambda page: page.name)
def test_links_lead_to_files_and_headings_that_exist(page):
    for link in page.links:
        if link.startswith(("http://", "https://")):
            continue
        target, _, anchor = link.partition("#")
        path = (page.path.parent / target).resolve() if target else page.path
        assert path.exists(), f"{page.name}: {link}"
        if anchor:
            assert anchor in PAGES[path].anchors, f"{page.name}: {link}"


def test_every_page_is_in_the_index():
    index = PAGES[ROOT / "docs" / "README.md"]
    linked = {(index.path.parent / link.partition("#")[0]).resolve() for link in index.links}
    below = {path for path in PAGES if path.is_relative_to(ROOT / "docs")}
    assert below - linked == {index.path}


@pytest.mark.parametrize("page", PAGES.values(), ids=lambda page: page.name)
def test_every_block_says_what_it_is(page):
    for block in page.blocks:
        assert block.language in LANGUAGES, f"{block}: {block.language!r}"


def test_the_readme_is_short():
    assert len((ROOT / "README.md").read_text(encoding="utf-8").split()) <= MOST_WORDS
