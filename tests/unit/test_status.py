import grpc
import pytest
from google.rpc import error_details_pb2, status_pb2
from hypothesis import given
from hypothesis import strategies as st

from toolsearch.rpcstatus import RpcStatus
from toolsearch.v1 import error_reason_pb2 as reasons
from toolsearch_server import errors
from toolsearch_server.rpc.status import CODES, reason_name, status_of

TEXT = st.text(alphabet=st.characters(codec="utf-8"), max_size=20)


def test_every_reason_of_the_contract_has_a_status() -> None:
    assert set(reasons.ErrorReason.values()) - {reasons.ERROR_REASON_UNSPECIFIED} == set(CODES)


def test_every_refusal_has_a_reason_of_its_own() -> None:
    kinds = errors.ServiceError.__subclasses__()
    assert len({kind.reason for kind in kinds}) == len(kinds)
    assert all(kind.reason in CODES for kind in kinds)


@given(TEXT, TEXT, st.dictionaries(TEXT, TEXT, max_size=3), st.none() | st.integers(0, 10**6).map(float))
def test_a_status_survives_the_wire(message: str, reason: str, metadata: dict[str, str], retry: float | None) -> None:
    status = RpcStatus(3, message, reason, metadata, retry)
    assert RpcStatus.decode(status.encode()) == status


def test_a_status_is_what_google_s_own_messages_say_it_is() -> None:
    refusal = errors.FieldInvalid("limit is negative", field="limit", given=-1, allowed="0 to 100")
    code, status = status_of(refusal)
    assert code is grpc.StatusCode.INVALID_ARGUMENT
    decoded = status_pb2.Status.FromString(status.encode())
    info, bad_request = error_details_pb2.ErrorInfo(), error_details_pb2.BadRequest()
    assert decoded.details[0].Unpack(info)
    assert decoded.details[1].Unpack(bad_request)
    assert (info.reason, info.domain) == ("FIELD_INVALID", "toolsearch")
    assert dict(info.metadata) == {"field": "limit", "given": "-1", "allowed": "0 to 100"}
    assert bad_request.field_violations[0].field == "limit"


@pytest.mark.parametrize("reason", list(CODES))
def test_reasons_are_sent_without_their_prefix(reason: reasons.ErrorReason) -> None:
    assert not reason_name(reason).startswith("ERROR_REASON")


def test_what_was_given_is_repeated_only_in_part_when_it_is_long() -> None:
    assert len(errors.FieldInvalid("m", given="x" * 10_000).given) == errors.MAX_GIVEN_LENGTH
