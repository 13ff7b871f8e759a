import pytest
from hypothesis import given
from hypothesis import strategies as st

from support import names_found, tool, view_of
from toolsearch_server import text


@pytest.mark.parametrize(
    ("identifier", "parts"),
    [
        ("create_issue", ["create", "issue"]),
        ("create-issue", ["create", "issue"]),
        ("issues.create", ["issues", "create"]),
        ("createIssue", ["create", "issue"]),
        ("CreateGitHubIssue", ["create", "git", "hub", "issue"]),
        ("getHTTPResponse", ["get", "http", "response"]),
        ("HTTPServer", ["http", "server"]),
        ("parseJSON", ["parse", "json"]),
        ("S3Bucket", ["s3", "bucket"]),
        ("oauth2_token", ["oauth2", "token"]),
        ("k8s", ["k8s"]),
        ("SCREAMING_SNAKE_CASE", ["screaming", "snake", "case"]),
    ],
)
def test_an_identifier_is_split_into_its_parts(identifier: str, parts: list[str]) -> None:
    assert text.words(identifier)[: len(parts)] == parts


@pytest.mark.parametrize("identifier", ["create_issue", "createIssue", "create-issue", "CreateIssue"])
def test_an_identifier_is_also_kept_joined(identifier: str) -> None:
    assert "createissue" in text.words(identifier)


def test_a_brand_inside_a_camel_case_name_is_kept_joined() -> None:
    assert "github" in text.words("CreateGitHubIssue")


@pytest.mark.parametrize(
    ("given", "folded"),
    [
        ("Café", "cafe"),
        ("ＡＰＩ", "api"),
        ("ﬁle", "file"),
        ("Straße", "strasse"),
        ("ÅNGSTRÖM", "angstrom"),
        ("user's", "users"),
    ],
)
def test_case_accents_and_compatibility_forms_are_folded(given: str, folded: str) -> None:
    assert text.words(given) == [folded]


def test_the_voicing_marks_of_kana_are_not_accents() -> None:
    assert text.words("ガ") != text.words("カ")


def test_text_without_spaces_becomes_pairs() -> None:
    assert text.words("天気予報API") == ["天気", "気予", "予報", "api"]


def test_a_single_character_of_such_a_script_is_a_word() -> None:
    assert text.words("雪") == ["雪"]


@pytest.mark.parametrize("name", ["createIssue", "create_issue", "issues.create", "CreateGitHubIssue"])
def test_create_issue_finds_every_spelling_of_it(name: str) -> None:
    others = [tool("delete_branch", "Remove a branch"), tool("listUsers", "All people"), tool("send_mail", "Post a letter")]
    assert names_found(view_of(tool(name), *others), "create issue")[0] == name


@pytest.mark.parametrize(
    ("query", "description"),
    [
        ("天気を調べる", "指定した都市の天気予報を取得します"),
        ("翻译文本", "将文本翻译成其他语言"),
        ("날씨 예보", "도시의 날씨를 예보합니다"),
        ("wetter vorhersage", "Liefert die Vorhersage für das Wetter einer Stadt"),
        ("météo", "Donne la meteo d'une ville"),
        ("погода", "Показывает погода в городе"),
    ],
)
def test_a_query_finds_a_tool_described_in_its_language(query: str, description: str) -> None:
    view = view_of(tool("a", "Send an e-mail to somebody"), tool("b", description), tool("c", "ファイルを削除します"))
    assert names_found(view, query)[0] == "b"


def test_stop_words_are_left_out_unless_there_is_nothing_else() -> None:
    assert text.content_words("what is the weather in Paris") == ["weather", "paris"]
    assert text.content_words("what is this") == ["what", "is", "this"]


@given(st.text())
def test_any_text_has_words_and_each_is_folded_and_short(content: str) -> None:
    for word in text.words(content):
        assert word
        assert not any(char.isspace() for char in word)
        assert len(word) <= 2 * text.MAX_WORD_LENGTH  # joined neighbours may be longer than a part
        assert word == word.lower() or not word.isascii()


@given(st.text(alphabet=st.characters(codec="ascii")), st.text(alphabet=st.characters(codec="ascii")))
def test_words_of_texts_on_two_lines_are_the_words_of_each(left: str, right: str) -> None:
    assert text.words(f"{left}\n{right}") == text.words(left) + text.words(right)


@given(st.lists(st.text(alphabet="abcdefghij", min_size=1, max_size=12), min_size=1, max_size=4))
def test_all_styles_of_an_identifier_have_the_same_parts(parts: list[str]) -> None:
    camel = parts[0] + "".join(part.capitalize() for part in parts[1:])
    if all(len(part) > 1 for part in parts):
        assert text.words("_".join(parts))[: len(parts)] == text.words(camel)[: len(parts)] == parts
    assert text.words("-".join(parts))[: len(parts)] == parts
