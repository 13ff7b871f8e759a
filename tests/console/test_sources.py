"""Promises that the console's source keeps by what is not in it."""

import re
from html.parser import HTMLParser
from pathlib import Path

import toolsearch_server

CONSOLE = Path(toolsearch_server.__file__).parent / "web" / "console"
SCRIPTS = sorted(CONSOLE.glob("*.js"))
MARKUP = (
    r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|setHTML|DOMParser|createContextualFragment|srcdoc"
    r"|\beval\b|new Function"
)
STORAGE = r"sessionStorage|indexedDB|document\.cookie|caches\."


def test_no_script_makes_markup_of_text() -> None:
    assert len(SCRIPTS) > 20
    assert [script.name for script in SCRIPTS if re.search(MARKUP, script.read_text())] == []


def test_nothing_is_stored_in_the_browser_but_the_theme() -> None:
    assert [script.name for script in SCRIPTS if re.search(STORAGE, script.read_text())] == []
    assert [script.name for script in SCRIPTS if "localStorage" in script.read_text()] == ["theme.js"]


def test_nothing_is_loaded_from_elsewhere() -> None:
    for file in CONSOLE.iterdir():
        addresses = set(re.findall(r"(?:https?:)?//[\w.-]+\.\w+[^\s\"')]*", file.read_text()))
        assert addresses <= {"//www.w3.org/2000/svg", "http://www.w3.org/2000/svg"}, file.name


def test_the_page_has_no_inline_script_or_style() -> None:
    class Page(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            given = dict(attrs)
            assert not any(name.startswith("on") or name == "style" for name in given)
            assert tag != "style" and (tag != "script" or given.get("src"))
            for name in ("src", "href"):
                address = given.get(name)
                assert address is None or address.startswith("#") or (CONSOLE / address).is_file()

    Page().feed((CONSOLE / "index.html").read_text())


def test_every_module_and_style_is_used() -> None:
    together = "".join(file.read_text() for file in CONSOLE.iterdir())
    unused = [file.name for file in CONSOLE.iterdir() if file.suffix in (".js", ".css") and f'"{file.name}"' not in together]
    assert [name for name in unused if f'"./{name}"' not in together] == []
