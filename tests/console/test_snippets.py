"""What the playground copies runs as it is, and asks exactly what was typed."""

import ast
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from playwright.sync_api import Browser, Page, expect

from console.browsing import SECONDS, Served, Visit, column

ROOT = Path(__file__).parents[2]
WORST = 'it\'s "a" `bug` $HOME $(id) ${x} \\ \\n %s {0} !! # ; & | < > \n\t\r ❤ 日本 \U0001f600 \u202e\u2028\x1b[201~\x07 -- é'
FILTER = {"servers": ["git*", "it's"], "tags": ["a b"], "kinds": ["ENTRY_KIND_TOOL"], "readOnly": True, "destructive": False}

Write = Callable[..., str]


def search(served: Served, query: str, **changes: Any) -> dict[str, Any]:
    return {
        "target": served.target,
        "origin": served.url,
        "tls": False,
        "credentials": False,
        "catalog": "default",
        "tenant": "",
        "query": query,
        "strategy": "auto",
        "limit": 3,
        "minRelevance": 0,
        "filter": {},
        **changes,
    }


@pytest.fixture(scope="module")
def write(browser: Browser, served: Served) -> Iterator[Write]:
    """`write(language, search)` by the page's own module."""
    context = browser.new_context()
    page: Page = context.new_page()
    page.goto(served.url)
    script = "async ([language, of]) => (await import('/snippets.js')).snippet(language, of)"
    yield lambda language, of: str(page.evaluate(script, [language, of]))
    context.close()


def run(*command: str, **options: Any) -> str:
    environment = os.environ | {"TOOLSEARCH_API_KEY": "", "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    done = subprocess.run(command, capture_output=True, timeout=SECONDS * 10, env=environment, check=False, **options)
    assert done.returncode == 0, done.stderr.decode()
    return str(done.stdout.decode())


def words_of(script: str, command: str) -> list[str]:
    """What a shell makes of the command's words."""
    printed = run("bash", "-c", f"{command}() {{ printf '%s\\0' \"$@\"; }}\n{script}")
    return printed.split("\0")[:-1]


texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)


@given(texts)
@example(WORST)
@settings(max_examples=150)
def test_python_says_what_was_typed(write: Write, served: Served, query: str) -> None:
    tree = ast.parse(write("Python", search(served, query, tenant=query, filter={"servers": [query]})))
    literals = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)]
    assert literals.count(query) >= 3


@given(texts)
@example(WORST)
@settings(max_examples=60)
def test_shells_hand_over_what_was_typed(write: Write, served: Served, query: str) -> None:
    given_words = words_of(write("CLI", search(served, query, filter={"servers": [query]})), "toolsearch")
    said = query.replace("\0", "\ufffd")
    assert given_words[-2:] == ["--", said]
    assert f"--server={said}" in given_words
    body = words_of(write("curl", search(served, query, filter={"servers": [query]})), "curl")[-1]
    assert json.loads(body)["queries"] == [query]
    assert json.loads(body)["filter"] == {"servers": [query]}


@given(texts)
@example(WORST)
def test_nothing_unseen_is_copied(write: Write, served: Served, query: str) -> None:
    for language in ("Python", "TypeScript", "Go", "curl", "CLI"):
        text = write(language, search(served, query, tenant=query, catalog=query))
        assert all(char.isprintable() or char.isspace() or not char.isascii() for char in text)
        assert not set(text) & set("\u202e\u2066\u200b\u2028\ufeff\x1b\x07\x00\r")


@pytest.mark.parametrize("query", ["open a bug report", WORST, "-n 5", "'", "\\"])
def test_python_curl_and_the_command_run(write: Write, served: Served, query: str) -> None:
    assert run(sys.executable, "-c", write("Python", search(served, query))).count("\n") <= 3
    assert "matches" in json.loads(run("bash", "-c", write("curl", search(served, query))))
    assert "match" in run("bash", "-c", write("CLI", search(served, query)))


def test_filters_and_least_relevance_are_copied_too(write: Write, served: Served) -> None:
    asked = search(served, "open a bug report", filter=FILTER | {"destructive": None}, minRelevance=0.1, strategy="bm25")
    asked["filter"] = {"servers": ["git*"], "kinds": ["ENTRY_KIND_TOOL"], "destructive": False}
    for language, program in (("Python", (sys.executable, "-c")), ("curl", ("bash", "-c")), ("CLI", ("bash", "-c"))):
        found = run(*program, write(language, asked))
        assert "github.open_issue" in found
        assert "jira." not in found


def test_keys_come_from_the_environment_and_travel_encrypted(write: Write, served: Served) -> None:
    asked = search(served, "x", target="tools.example.com:50051", credentials=True, tls=True)
    written = {language: write(language, asked) for language in ("Python", "TypeScript", "Go", "curl")}
    assert all("TOOLSEARCH_API_KEY" in text for text in written.values())
    assert "tls=True" in written["Python"]
    assert "tls: true" in written["TypeScript"]
    assert "WithTLS(nil)" in written["Go"]
    assert "--tls" in write("CLI", asked)


@pytest.mark.skipif(not (ROOT / "clients/typescript/dist/index.js").exists(), reason="the TypeScript client is not built")
def test_typescript_runs(write: Write, served: Served) -> None:
    folder = ROOT / "clients/typescript/build"
    folder.mkdir(exist_ok=True)
    program = folder / "copied-from-the-console.mjs"
    try:
        for query in ("open a bug report", WORST):
            program.write_text(write("TypeScript", search(served, query, filter={"servers": ["git*"]})))
            assert "github.open_issue" in run(os.environ.get("NODE") or "node", str(program))
    finally:
        program.unlink(missing_ok=True)


@pytest.mark.timeout(600)
def test_go_runs(write: Write, served: Served, tmp_path: Path) -> None:
    go = os.environ.get("GO") or shutil.which("go")
    if go is None:
        pytest.skip("there is no go: make test-console brings one")
    client = ROOT / "clients/go"
    module = (client / "go.mod").read_text().replace("module github.com/toolsearch/toolsearch/clients/go", "module copied")
    name = "github.com/toolsearch/toolsearch/clients/go"
    (tmp_path / "go.mod").write_text(f"{module}\nrequire {name} v0.0.0\nreplace {name} => {client}\n")
    shutil.copy(client / "go.sum", tmp_path)
    (tmp_path / "main.go").write_text(write("Go", search(served, WORST, filter=FILTER)))
    run(go, "vet", "-mod=mod", ".", cwd=tmp_path)
    assert run(go, "run", "-mod=mod", ".", cwd=tmp_path) == ""  # nothing passes that filter
    formatted = run(str(Path(go).parent / "gofmt"), "main.go", cwd=tmp_path) if (Path(go).parent / "gofmt").exists() else None
    assert formatted in (None, (tmp_path / "main.go").read_text())


def test_the_panel_shows_the_call_and_follows_the_search(visit: Visit) -> None:
    page = visit("#/playground?q=open+a+bug+report&s=bm25&readonly=1")
    expect(column(page, "bm25").locator(".match").first).to_be_visible()
    page.get_by_text("Call this from code").click()
    code = page.get_by_role("tabpanel")
    expect(code).to_contain_text('strategy="bm25"')
    expect(code).to_contain_text("Filter(read_only=True)")
    page.get_by_role("tab", name="Python").focus()
    for language in ("TypeScript", "Go", "curl", "CLI"):
        page.keyboard.press("ArrowRight")
        expect(page.get_by_role("tab", name=language)).to_be_focused()
    expect(code).to_contain_text("toolsearch search")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copy").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == code.inner_text()
