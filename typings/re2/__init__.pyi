class error(Exception): ...

class Options:
    max_mem: int
    log_errors: bool
    never_nl: bool
    case_sensitive: bool
    never_capture: bool

class _Anchor:
    UNANCHORED: _Anchor

class _Compiled:
    """The library's own object, which the others are around."""
    def Match(self, anchor: _Anchor, text: bytes, pos: int, endpos: int, /) -> list[tuple[int, int]]: ...

class _Match:
    def start(self) -> int: ...
    def end(self) -> int: ...

class _Regexp:
    programsize: int
    _regexp: _Compiled
    def search(self, text: bytes) -> _Match | None: ...
    def match(self, text: bytes) -> _Match | None: ...
    def fullmatch(self, text: bytes) -> _Match | None: ...

def compile(pattern: str, options: Options | None = None) -> _Regexp: ...
