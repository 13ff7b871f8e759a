package toolsearch

import (
	"context"
	"errors"
	"io"

	"google.golang.org/grpc"

	"github.com/toolsearch/toolsearch/clients/go/toolsearchv1"
)

// Resource reads a file that comes with an entry: what it is, and its content. ReadResource gives it piece by piece.
func (c *Client) Resource(
	ctx context.Context, request *toolsearchv1.ReadResourceRequest, options ...grpc.CallOption,
) (*toolsearchv1.Resource, []byte, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := c.ReadResource(ctx, request, options...)
	if err != nil {
		return nil, nil, err
	}
	var resource *toolsearchv1.Resource
	var content []byte
	for {
		piece, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return resource, content, nil
		}
		if err != nil {
			return nil, nil, err
		}
		if resource == nil {
			resource = piece.GetResource()
		}
		content = append(content, piece.GetData()...)
	}
}
