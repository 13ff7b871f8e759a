from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class CatalogSettings(_message.Message):
    __slots__ = ("weights", "synonyms", "pinned", "banned", "ignore_usage")
    WEIGHTS_FIELD_NUMBER: _ClassVar[int]
    SYNONYMS_FIELD_NUMBER: _ClassVar[int]
    PINNED_FIELD_NUMBER: _ClassVar[int]
    BANNED_FIELD_NUMBER: _ClassVar[int]
    IGNORE_USAGE_FIELD_NUMBER: _ClassVar[int]
    weights: FieldWeights
    synonyms: _containers.RepeatedCompositeFieldContainer[Synonyms]
    pinned: _containers.RepeatedScalarFieldContainer[str]
    banned: _containers.RepeatedScalarFieldContainer[str]
    ignore_usage: bool
    def __init__(self, weights: _Optional[_Union[FieldWeights, _Mapping]] = ..., synonyms: _Optional[_Iterable[_Union[Synonyms, _Mapping]]] = ..., pinned: _Optional[_Iterable[str]] = ..., banned: _Optional[_Iterable[str]] = ..., ignore_usage: bool = ...) -> None: ...

class FieldWeights(_message.Message):
    __slots__ = ("name", "description", "parameters")
    NAME_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    PARAMETERS_FIELD_NUMBER: _ClassVar[int]
    name: int
    description: int
    parameters: int
    def __init__(self, name: _Optional[int] = ..., description: _Optional[int] = ..., parameters: _Optional[int] = ...) -> None: ...

class Synonyms(_message.Message):
    __slots__ = ("words",)
    WORDS_FIELD_NUMBER: _ClassVar[int]
    words: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, words: _Optional[_Iterable[str]] = ...) -> None: ...
