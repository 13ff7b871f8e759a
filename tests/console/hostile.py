"""What a server might call its tools, and write about them, to get into the page of whoever looks."""

from typing import Any

PAYLOADS = (
    "<script>window.attacked=1</script>",
    '<img src=x onerror="window.attacked=1">',
    "<svg/onload=window.attacked=1>",
    "</textarea></title></style><script>window.attacked=1</script>",
    "\"><iframe srcdoc='<script>parent.attacked=1</script>'>",
    "javascript:window.attacked=1",
    "[click](javascript:window.attacked=1) http://evil.example/ data:text/html,<script>window.attacked=1</script>",
    "&lt;script&gt;window.attacked=1&lt;/script&gt; &#60;b&#62;",
    "${window.attacked=1} {{constructor.constructor('window.attacked=1')()}} <%= 7*7 %> #{7*7}",
    "' onmouseover='window.attacked=1' style='position:fixed;inset:0'",
    "<style>body{display:none}</style><link rel=stylesheet href=//evil.example>",
    "<base href=//evil.example/><meta http-equiv=refresh content=0;url=//evil.example>",
    "`-alert(1)-` \\u003cscript\\u003e \\x3cscript\\x3e",
)
UNSEEN = "a\u202egnp.exe\u202c b\u2066c\u2069 d\u200be\ufeff f\x00g\x1b[31mh\x07 i\U000e0041\U000e0042 j\u2028k"
LONG = "long " + "x" * 10_000


def hostile_tools() -> list[dict[str, Any]]:
    tools = [attacking(f"attack_{number:02}", payload) for number, payload in enumerate(PAYLOADS)]
    return [*tools, attacking("unseen", UNSEEN), attacking("long", LONG)]


def attacking(name: str, text: str) -> dict[str, Any]:
    """The text in every place that a definition has for one."""
    key = text[:300]
    return {
        "name": name,
        "title": text[:200],
        "description": f"attack {text}",
        "inputSchema": {
            "type": "object",
            "$defs": {key: {"$ref": f"#/$defs/{key}"}},
            "properties": {
                key: {"type": key, "description": text, "enum": [text, {"__proto__": text}], "default": text, "pattern": text},
                "__proto__": {"type": "object", "properties": {"polluted": {"const": text}, "constructor": {"type": "string"}}},
                "constructor": {"$ref": "#/$defs/__proto__/polluted"},
                "toString": {"oneOf": [{"$ref": "javascript:window.attacked=1"}, True, False, None, 7, [text]]},
                "wrong": {
                    "type": ["string", 7, None],
                    "properties": "text",
                    "required": "toString",
                    "enum": {"a": 1},
                    "items": [[]],
                },
            },
            "required": [key, "__proto__"],
        },
        "outputSchema": {"type": "object", "properties": {key: {"description": text}}},
        "annotations": {"title": text[:200], "readOnlyHint": text == LONG},
        "_meta": {"toolsearch/tags": [text[:60]], "toolsearch/capabilities": [text[:60]]},
    }
