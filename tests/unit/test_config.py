from pathlib import Path

import pytest

from toolsearch_server.command_line import parse
from toolsearch_server.config import Address, Config, WatchConfig
from toolsearch_server.embedders.choice import Choice
from toolsearch_server.store.location import RedisLocation, SqliteLocation


def settings(*arguments: str, **environment: str) -> Config:
    parsed = parse(["serve", *arguments], environment)
    assert isinstance(parsed, Config)
    return parsed


def refusal(capsys: pytest.CaptureFixture[str], *arguments: str, **environment: str) -> str:
    with pytest.raises(SystemExit) as stopped:
        settings(*arguments, **environment)
    assert stopped.value.code == 2
    return capsys.readouterr().err


def test_without_settings_it_listens_here_and_keeps_a_file() -> None:
    config = settings()
    assert config.listen == Address("127.0.0.1", 50051)
    assert config.store == SqliteLocation(Path("data/toolsearch.db"))
    assert config.http is None


def test_connections_have_no_age_unless_one_is_said() -> None:
    assert settings().connection_age is None
    assert settings("--connection-age", "0").connection_age is None
    assert settings("--connection-age", "300").connection_age == 300.0


def test_every_setting_is_an_environment_variable_too() -> None:
    config = settings(
        TOOLSEARCH_LISTEN="[::1]:7",
        TOOLSEARCH_STORE="memory:",
        TOOLSEARCH_HTTP="localhost:8",
        TOOLSEARCH_LOG_LEVEL="debug",
        TOOLSEARCH_LOG_FORMAT="console",
        TOOLSEARCH_DRAIN_DELAY="3",
        TOOLSEARCH_DRAIN_GRACE="4",
        TOOLSEARCH_CONNECTION_AGE="6",
        TOOLSEARCH_IDLE_SECONDS="5",
        TOOLSEARCH_EMBEDDINGS="off",
        TOOLSEARCH_HTTP_CORS="https://a.example,http://localhost:3000",
        TOOLSEARCH_NO_CONSOLE="true",
    )
    assert config == Config(
        listen=Address("::1", 7),
        store=SqliteLocation(None),
        http=Address("localhost", 8),
        log_level="debug",
        log_format="console",
        drain_delay=3.0,
        drain_grace=4.0,
        connection_age=6.0,
        idle_seconds=5.0,
        embeddings=Choice("off"),
        http_cors=("https://a.example", "http://localhost:3000"),
        console=False,
    )


def test_a_switch_is_an_environment_variable_too() -> None:
    certificate = {"TOOLSEARCH_TLS_CERTIFICATE": "c", "TOOLSEARCH_TLS_KEY": "k"}
    assert settings(TOOLSEARCH_HTTP_TLS="true", **certificate).http_tls
    assert not settings(TOOLSEARCH_HTTP_TLS="false", **certificate).http_tls
    with pytest.raises(SystemExit):
        settings(TOOLSEARCH_HTTP_TLS="maybe", **certificate)


def test_http_at_any_port_begins_with_the_usual_one() -> None:
    config = settings("--http", "auto")
    assert (config.http, config.http_elsewhere) == (Address("127.0.0.1", 8080), True)
    assert not settings("--http", "127.0.0.1:8080").http_elsewhere


def test_a_flag_beats_the_environment() -> None:
    assert settings("--listen", "127.0.0.1:1", TOOLSEARCH_LISTEN="127.0.0.1:2").listen == Address("127.0.0.1", 1)


@pytest.mark.parametrize("url", ["sqlite:x/y.db", "sqlite://x/y.db"])
def test_a_store_is_a_path(url: str) -> None:
    assert settings("--store", url).store == SqliteLocation(Path("x/y.db"))


def test_an_absolute_store_path_stays_absolute() -> None:
    assert settings("--store", "sqlite:///x/y.db").store == SqliteLocation(Path("/x/y.db"))


@pytest.mark.parametrize("listen", ["0.0.0.0:50051", "[::]:50051", "10.0.0.1:50051", "example.com:50051"])
@pytest.mark.parametrize("flag", ["--listen", "--http"])
def test_listening_beyond_this_machine_without_credentials_is_refused_with_an_explanation(
    capsys: pytest.CaptureFixture[str], flag: str, listen: str
) -> None:
    text = refusal(capsys, flag, listen)
    assert "no credentials are configured" in text
    assert "127.0.0.1" in text


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--listen", "50051"), "HOST:PORT"),
        (("--listen", "127.0.0.1"), "HOST:PORT"),
        (("--listen", "127.0.0.1:99999"), "--listen"),
        (("--listen", "127.0.0.1:x"), "--listen"),
        (("--store", "mysql://x"), "expected sqlite:PATH, memory:, redis://"),
        (("--store", "sqlite:"), "expected sqlite:PATH, memory:, redis://"),
        (("--log-level", "loud"), "debug, info, warning, error"),
        (("--drain-delay", "-1"), "number of seconds"),
        (("--drain-delay", "soon"), "number of seconds"),
        (("--idle-seconds", "nan"), "number of seconds"),
    ],
)
def test_a_wrong_setting_is_explained(capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], says: str) -> None:
    assert says in refusal(capsys, *arguments)


def test_a_wrong_environment_variable_is_explained_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert "number of seconds" in refusal(capsys, TOOLSEARCH_DRAIN_GRACE="x")


def test_help_teaches(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        settings("--help")
    text = capsys.readouterr().out
    for word in ("examples:", "TOOLSEARCH_LISTEN", "SIGTERM", "exit codes", "--sample"):
        assert word in text


def test_a_redis_password_is_taken_from_the_environment() -> None:
    found = settings("--store", "redis://h", TOOLSEARCH_REDIS_PASSWORD="p").store
    assert isinstance(found, RedisLocation) and found.password == "p"


def test_watch_needs_a_file_and_a_store_that_it_may_share(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, complaint in (
        ([], "--config is required"),
        (["--config", "f", "--json", "--store", "redis://h"], "--json goes with --once"),
        (["--config", "f"], "serve --mcp-config"),
    ):
        with pytest.raises(SystemExit):
            parse(["watch", *arguments], {})
        assert complaint in capsys.readouterr().err
    found = parse(["watch", "--once", "--stale-after", "5"], {"TOOLSEARCH_MCP_CONFIG": "f"})
    assert isinstance(found, WatchConfig)
    assert (found.mcp_config, found.stale_after, found.forget_after) == (Path("f"), 5.0, None)


@pytest.mark.parametrize(
    ("text", "choice"),
    [
        ("auto", Choice("auto")),
        ("static", Choice("static")),
        ("off", Choice("off")),
        ("onnx:models/a b", Choice("onnx", folder=Path("models/a b"))),
        ("sentence-transformers:/m", Choice("sentence-transformers", folder=Path("/m"))),
    ],
)
def test_embeddings_are_a_model_or_a_folder(text: str, choice: Choice) -> None:
    assert settings("--embeddings", text).embeddings == choice


@pytest.mark.parametrize("url", ["https://host/v1", "https://host/v1/", "https://host/v1/embeddings"])
def test_embeddings_are_an_endpoint_with_a_model_and_a_key_from_the_environment(url: str) -> None:
    embeddings = settings(TOOLSEARCH_EMBEDDINGS=url, TOOLSEARCH_EMBEDDINGS_MODEL="m", TOOLSEARCH_EMBEDDINGS_KEY="k").embeddings
    assert embeddings == Choice("endpoint", url="https://host/v1", model="m", key="k")
    assert "'k'" not in repr(embeddings) and str(embeddings) == "https://host/v1 (m)"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--embeddings", "magic"), "'magic' is not one of auto, static, off, onnx:FOLDER"),
        (("--embeddings", "onnx:"), "is not one of"),
        (("--embeddings", "https://host/v1"), "--embeddings-model"),
        (("--embeddings", "static", "--embeddings-model", "m"), "only for an endpoint"),
        (("--embeddings", "https://user:secret@host/v1", "--embeddings-model", "m"), "$TOOLSEARCH_EMBEDDINGS_KEY"),
        (("--embeddings", "https://host/v1?key=secret", "--embeddings-model", "m"), "without ? and #"),
        (("--embeddings", "https://host:port/v1", "--embeddings-model", "m"), "port"),
        (("--embeddings", "https:///v1", "--embeddings-model", "m"), "https://HOST/v1"),
    ],
)
def test_wrong_embeddings_are_explained_without_a_key(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], says: str
) -> None:
    said = refusal(capsys, *arguments)
    assert says in said
    assert "user:secret" not in said


def test_a_key_that_no_header_can_carry_is_refused_and_not_repeated(capsys: pytest.CaptureFixture[str]) -> None:
    said = refusal(capsys, "--embeddings", "https://host/v1", "--embeddings-model", "m", TOOLSEARCH_EMBEDDINGS_KEY="sec\nret")
    assert "TOOLSEARCH_EMBEDDINGS_KEY" in said and "sec" not in said
