package toolsearch

import (
	"context"
	"iter"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/toolsearch/toolsearch/clients/go/toolsearchv1"
)

// Tools goes through all entries that pass the request's filter, by canonical name, fetching a page at a time. After an error
// it ends.
func (c *Client) Tools(
	ctx context.Context, request *toolsearchv1.ListToolsRequest, options ...grpc.CallOption,
) iter.Seq2[*toolsearchv1.Entry, error] {
	return pages(request, func(page *toolsearchv1.ListToolsRequest, token string) ([]*toolsearchv1.Entry, string, error) {
		page.PageToken = token
		response, err := c.ListTools(ctx, page, options...)
		return response.GetEntries(), response.GetNextPageToken(), err
	})
}

// Namespaces goes through all namespaces of canonical names, below the request's parent. After an error it ends.
func (c *Client) Namespaces(
	ctx context.Context, request *toolsearchv1.ListNamespacesRequest, options ...grpc.CallOption,
) iter.Seq2[*toolsearchv1.Namespace, error] {
	return pages(request, func(page *toolsearchv1.ListNamespacesRequest, token string) ([]*toolsearchv1.Namespace, string, error) {
		page.PageToken = token
		response, err := c.ListNamespaces(ctx, page, options...)
		return response.GetNamespaces(), response.GetNextPageToken(), err
	})
}

// Catalogs goes through all catalogs of the tenant, by name. After an error it ends.
func (c *Client) Catalogs(
	ctx context.Context, request *toolsearchv1.ListCatalogsRequest, options ...grpc.CallOption,
) iter.Seq2[*toolsearchv1.CatalogListing, error] {
	return pages(request, func(page *toolsearchv1.ListCatalogsRequest, token string) ([]*toolsearchv1.CatalogListing, string, error) {
		page.PageToken = token
		response, err := c.ListCatalogs(ctx, page, options...)
		return response.GetCatalogs(), response.GetNextPageToken(), err
	})
}

// Tenants goes through all tenants that have catalogs, by name: for administrators. After an error it ends.
func (c *Client) Tenants(
	ctx context.Context, request *toolsearchv1.ListTenantsRequest, options ...grpc.CallOption,
) iter.Seq2[*toolsearchv1.TenantListing, error] {
	return pages(request, func(page *toolsearchv1.ListTenantsRequest, token string) ([]*toolsearchv1.TenantListing, string, error) {
		page.PageToken = token
		response, err := c.ListTenants(ctx, page, options...)
		return response.GetTenants(), response.GetNextPageToken(), err
	})
}

// pages begins anew each time it is ranged over, at the page that the request says.
func pages[Request interface {
	proto.Message
	GetPageToken() string
}, Item any](request Request, fetch func(page Request, token string) ([]Item, string, error)) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		page, token := copied(request), request.GetPageToken()
		for {
			items, next, err := fetch(page, token)
			if err != nil {
				var none Item
				yield(none, err)
				return
			}
			for _, item := range items {
				if !yield(item, nil) {
					return
				}
			}
			if token = next; token == "" {
				return
			}
		}
	}
}

// copied is for requests that get another token or revision. None at all is an empty one, as it is for the generated methods.
func copied[M proto.Message](request M) M {
	if !request.ProtoReflect().IsValid() {
		return request.ProtoReflect().New().Interface().(M)
	}
	return proto.CloneOf(request)
}
