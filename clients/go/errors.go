package toolsearch

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Kinds of errors, for errors.Is. The documentation of the package says what to do about each.
var (
	ErrInvalid     = errors.New("toolsearch: invalid request")
	ErrNotFound    = errors.New("toolsearch: not found")
	ErrConflict    = errors.New("toolsearch: conflict")
	ErrLimit       = errors.New("toolsearch: limit reached")
	ErrNotPossible = errors.New("toolsearch: not possible here")
	ErrDenied      = errors.New("toolsearch: denied")
	ErrUnavailable = errors.New("toolsearch: unavailable")
)

var kinds = map[codes.Code]error{
	codes.InvalidArgument:    ErrInvalid,
	codes.NotFound:           ErrNotFound,
	codes.Aborted:            ErrConflict,
	codes.ResourceExhausted:  ErrLimit,
	codes.FailedPrecondition: ErrNotPossible,
	codes.Unauthenticated:    ErrDenied,
	codes.PermissionDenied:   ErrDenied,
	codes.Unavailable:        ErrUnavailable,
	codes.DeadlineExceeded:   context.DeadlineExceeded,
	codes.Canceled:           context.Canceled,
}

// Error is a call that failed.
type Error struct {
	Code codes.Code
	// Reason is an ErrorReason of the contract without its prefix, such as "CATALOG_NOT_FOUND". Empty if the service did not
	// answer.
	Reason  string
	Message string
	// Field is the path of the offending field, such as "upserts[2].definition"; Given what was in it; Allowed what may be.
	Field, Given, Allowed string
	// Metadata is all that the service said besides, the three above included.
	Metadata map[string]string
	// RetryAfter is how long the service asks to be left alone. 0: it did not say.
	RetryAfter time.Duration

	status *status.Status
}

func newError(err error, target string) *Error {
	said := status.Convert(err)
	e := &Error{Code: said.Code(), Message: said.Message(), status: said}
	for _, detail := range said.Details() {
		switch detail := detail.(type) {
		case *errdetails.ErrorInfo:
			e.Reason, e.Metadata = detail.GetReason(), detail.GetMetadata()
			e.Field, e.Given, e.Allowed = e.Metadata["field"], e.Metadata["given"], e.Metadata["allowed"]
		case *errdetails.RetryInfo:
			e.RetryAfter = detail.GetRetryDelay().AsDuration()
		}
	}
	if e.Reason != "" {
		return e
	}
	switch e.Code {
	case codes.Unavailable:
		e.Message = fmt.Sprintf("cannot reach toolsearch at %s: %s", target, e.Message)
	case codes.DeadlineExceeded:
		e.Message = fmt.Sprintf("no answer from toolsearch at %s in time: %s", target, e.Message)
	}
	return e
}

// Error is the message, with the reason or else the code.
func (e *Error) Error() string {
	if e.Reason == "" {
		return fmt.Sprintf("toolsearch: %s (%s)", e.Message, e.Code)
	}
	return fmt.Sprintf("toolsearch: %s (%s)", e.Message, e.Reason)
}

// Is says whether the error is of a kind, such as ErrNotFound or context.DeadlineExceeded.
func (e *Error) Is(target error) bool { return kinds[e.Code] == target }

// GRPCStatus is what the service answered, for package status.
func (e *Error) GRPCStatus() *status.Status { return e.status }
