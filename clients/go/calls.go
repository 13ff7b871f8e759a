package toolsearch

import (
	"context"
	"errors"
	"io"
	"slices"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

const (
	tenantHeader = "x-toolsearch-tenant"
	routeHeader  = "x-toolsearch-route"
)

// calls is what happens around every call, so that the generated methods can be used as they are.
type calls struct {
	target  string
	tenant  string
	route   string
	catalog string
	timeout time.Duration
	session session
}

type anyRevision struct{ grpc.EmptyCallOption }

// AnyRevision lets one call read what the replica has, without waiting for this client's own writes.
func AnyRevision() grpc.CallOption { return anyRevision{} }

func (c *calls) unary(
	ctx context.Context, method string, request, response any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, options ...grpc.CallOption,
) error {
	if _, has := ctx.Deadline(); !has && c.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.timeout)
		defer cancel()
	}
	request = c.completed(request, options)
	if err := invoke(c.identified(ctx), method, request, response, conn, options...); err != nil {
		return c.explained(err)
	}
	c.session.remember(request, response)
	return nil
}

func (c *calls) stream(
	ctx context.Context, description *grpc.StreamDesc, conn *grpc.ClientConn, method string, open grpc.Streamer, options ...grpc.CallOption,
) (grpc.ClientStream, error) {
	opened, err := open(c.identified(ctx), description, conn, method, options...)
	if err != nil {
		return nil, c.explained(err)
	}
	return &stream{ClientStream: opened, calls: c, options: options}, nil
}

type stream struct {
	grpc.ClientStream
	calls   *calls
	options []grpc.CallOption
}

func (s *stream) SendMsg(request any) error {
	return s.calls.explained(s.ClientStream.SendMsg(s.calls.completed(request, s.options)))
}

func (s *stream) RecvMsg(response any) error {
	return s.calls.explained(s.ClientStream.RecvMsg(response))
}

func (c *calls) identified(ctx context.Context) context.Context {
	if c.tenant != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, tenantHeader, c.tenant)
	}
	if c.route != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, routeHeader, c.route)
	}
	return ctx
}

func (c *calls) explained(err error) error {
	if err == nil || errors.Is(err, io.EOF) {
		return err
	}
	return newError(err, c.target)
}

// completed is the request with what the caller left open: the catalog, and the version that a read must have seen. The
// caller's own message stays as it is: it may be sent again, or by two goroutines at once.
func (c *calls) completed(request any, options []grpc.CallOption) any {
	given := request.(proto.Message).ProtoReflect()
	fields := given.Descriptor().Fields()
	catalog := fields.ByName("catalog")
	if catalog == nil {
		return request
	}
	message := shallowCopy(given)
	if !message.Has(catalog) {
		message.Set(catalog, protoreflect.ValueOfString(c.catalog))
	}
	minRevision, epoch := fields.ByName("min_revision"), fields.ByName("epoch")
	if minRevision == nil || message.Has(minRevision) || message.Has(epoch) || allowsAnyRevision(options) {
		return message.Interface()
	}
	if version := c.session.written(message.Get(catalog).String()); version != nil {
		message.Set(minRevision, protoreflect.ValueOfInt64(version.GetRevision()))
		message.Set(epoch, protoreflect.ValueOfString(version.GetEpoch()))
	}
	return message.Interface()
}

// shallowCopy shares what is inside the message's fields: a write may carry megabytes of them.
func shallowCopy(message protoreflect.Message) protoreflect.Message {
	copied := message.New()
	message.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		copied.Set(field, value)
		return true
	})
	copied.SetUnknown(message.GetUnknown())
	return copied
}

func allowsAnyRevision(options []grpc.CallOption) bool {
	return slices.ContainsFunc(options, func(option grpc.CallOption) bool {
		_, is := option.(anyRevision)
		return is
	})
}
