from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from typing import ClassVar as _ClassVar

DESCRIPTOR: _descriptor.FileDescriptor

class Strategy(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    STRATEGY_UNSPECIFIED: _ClassVar[Strategy]
    STRATEGY_AUTO: _ClassVar[Strategy]
    STRATEGY_BM25: _ClassVar[Strategy]
    STRATEGY_REGEX: _ClassVar[Strategy]
    STRATEGY_FUZZY: _ClassVar[Strategy]
    STRATEGY_SEMANTIC: _ClassVar[Strategy]
    STRATEGY_HYBRID: _ClassVar[Strategy]
STRATEGY_UNSPECIFIED: Strategy
STRATEGY_AUTO: Strategy
STRATEGY_BM25: Strategy
STRATEGY_REGEX: Strategy
STRATEGY_FUZZY: Strategy
STRATEGY_SEMANTIC: Strategy
STRATEGY_HYBRID: Strategy
