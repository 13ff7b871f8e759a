package toolsearch

import (
	"context"
	"errors"
	"io"
	"iter"
	"math/rand/v2"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/toolsearch/toolsearch/clients/go/toolsearchv1"
)

const (
	firstReconnectDelay   = 100 * time.Millisecond
	longestReconnectDelay = 5 * time.Second
)

// Watch tells what changes in a catalog, from the request's revision or from now on. A lost connection is taken up again where
// it was lost, for as long as the context lives; what was missed meanwhile is told then, or the event is SnapshotNeeded.
//
// It ends after the catalog was deleted, and after an error: the context's, a refusal such as ErrNotFound, or, as long as
// there is no revision to continue from, ErrUnavailable.
//
// To stop, leave the loop or cancel the context; either ends the stream.
func (c *Client) Watch(
	ctx context.Context, request *toolsearchv1.WatchCatalogRequest, options ...grpc.CallOption,
) iter.Seq2[*toolsearchv1.WatchCatalogResponse, error] {
	return func(yield func(*toolsearchv1.WatchCatalogResponse, error) bool) {
		next := copied(request)
		delay := firstReconnectDelay
		for {
			done, err := c.watchOnce(ctx, next, options, func(event *toolsearchv1.WatchCatalogResponse) bool {
				next.FromRevision, next.Epoch = proto.Int64(event.GetVersion().GetRevision()), event.GetVersion().GetEpoch()
				delay = firstReconnectDelay
				return yield(event, nil)
			})
			if done {
				return
			}
			if err == nil || (errors.Is(err, ErrUnavailable) && next.FromRevision != nil) {
				err = c.wait(ctx, delay)
				delay = min(2*delay, longestReconnectDelay)
			}
			if err != nil {
				yield(nil, err)
				return
			}
		}
	}
}

// watchOnce hands on the events of one stream. It is done when nothing can follow or nobody listens any more; otherwise the
// stream broke, with an error or none.
func (c *Client) watchOnce(
	ctx context.Context,
	request *toolsearchv1.WatchCatalogRequest,
	options []grpc.CallOption,
	yield func(*toolsearchv1.WatchCatalogResponse) bool,
) (done bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // ends the stream when the loop is left early
	stream, err := c.WatchCatalog(ctx, request, options...)
	if err != nil {
		return false, err
	}
	for {
		event, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		if !yield(event) || event.GetDeleted() != nil {
			return true, nil
		}
	}
}

// wait lasts between half the delay and all of it, so that many clients do not come back at once.
func (c *Client) wait(ctx context.Context, delay time.Duration) error {
	timer := time.NewTimer(delay/2 + rand.N(delay/2))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return newError(status.FromContextError(ctx.Err()).Err(), c.conn.Target())
	}
}
