package toolsearch

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/credentials/local"
	_ "google.golang.org/grpc/health" // the service config's healthCheckConfig does nothing without it
	"google.golang.org/grpc/keepalive"
	"google.golang.org/protobuf/proto"

	"github.com/toolsearch/toolsearch/clients/go/toolsearchv1"
)

// The same as the Python client's. A replica that drains says so in its health before it stops, and gets no new calls.
const serviceConfig = `{
	"loadBalancingConfig": [{"round_robin": {}}],
	"healthCheckConfig": {"serviceName": ""},
	"methodConfig": [{
		"name": [
			{"service": "toolsearch.v1.ToolSearchService"},
			{"service": "toolsearch.v1.CatalogService", "method": "GetCatalog"},
			{"service": "toolsearch.v1.CatalogService", "method": "GetSettings"},
			{"service": "toolsearch.v1.CatalogService", "method": "ListCatalogs"},
			{"service": "toolsearch.v1.CatalogService", "method": "ListTenants"}
		],
		"retryPolicy": {
			"maxAttempts": 5,
			"initialBackoff": "0.05s",
			"maxBackoff": "1s",
			"backoffMultiplier": 2.5,
			"retryableStatusCodes": ["UNAVAILABLE"]
		}
	}]
}`

const maxMessageBytes = 64 << 20

// Client is a connection to toolsearch. It is safe for concurrent use, and meant to be made once and kept.
type Client struct {
	toolsearchv1.ToolSearchServiceClient
	toolsearchv1.CatalogServiceClient
	conn *grpc.ClientConn
}

type settings struct {
	apiKey      string
	hasAPIKey   bool
	tenant      string
	route       *string
	catalog     string
	tls         *tls.Config
	timeout     time.Duration
	dialOptions []grpc.DialOption
}

// Option is a setting of New.
type Option func(*settings)

// WithAPIKey authenticates every call. The key only travels over TLS, or to a server on this machine: New refuses anything
// else.
func WithAPIKey(key string) Option {
	return func(s *settings) { s.apiKey, s.hasAPIKey = strings.TrimSpace(key), true }
}

// WithTenant says whose catalogs are meant, to servers that take the caller's word for it. Elsewhere the API key tells.
func WithTenant(tenant string) Option { return func(s *settings) { s.tenant = tenant } }

// WithCatalog is the catalog of requests that name none. Without it: "default".
func WithCatalog(catalog string) Option { return func(s *settings) { s.catalog = catalog } }

// WithRoute is what proxies go by that send like calls to like replicas, in the header x-toolsearch-route. Without it: a hash of
// tenant and API key. Empty: no such header.
func WithRoute(route string) Option { return func(s *settings) { s.route = &route } }

// WithTLS encrypts. A nil config means TLS with the system's certificate authorities.
func WithTLS(config *tls.Config) Option {
	return func(s *settings) {
		if config == nil {
			config = &tls.Config{MinVersion: tls.VersionTLS12}
		}
		s.tls = config
	}
}

// WithTimeout is for calls whose context has no deadline, retries included. Without it: 10 seconds. 0 or less: none.
// Watches have no timeout.
func WithTimeout(timeout time.Duration) Option { return func(s *settings) { s.timeout = timeout } }

// WithDialOptions adds to how the client connects, such as interceptors or a stats handler. They come last and win.
func WithDialOptions(options ...grpc.DialOption) Option {
	return func(s *settings) { s.dialOptions = append(s.dialOptions, options...) }
}

// New makes a client for a target in gRPC's syntax: "localhost:50051", "dns:///toolsearch.example:50051". It does not wait for
// a connection: what is wrong with one, the first call tells.
func New(target string, options ...Option) (*Client, error) {
	s := settings{catalog: "default", timeout: 10 * time.Second}
	for _, option := range options {
		option(&s)
	}
	dialOptions, err := s.credentials(target)
	if err != nil {
		return nil, err
	}
	around := &calls{target: target, tenant: s.tenant, route: s.routed(), catalog: s.catalog, timeout: s.timeout}
	dialOptions = append(dialOptions,
		grpc.WithDefaultServiceConfig(serviceConfig),
		grpc.WithDisableServiceConfig(),
		grpc.WithChainUnaryInterceptor(around.unary),
		grpc.WithChainStreamInterceptor(around.stream),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessageBytes)),
		// A replica that is cut off without a goodbye is found out within 40 seconds.
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 30 * time.Second, Timeout: 10 * time.Second}),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: 2 * time.Second},
			MinConnectTimeout: 20 * time.Second,
		}),
	)
	conn, err := grpc.NewClient(target, append(dialOptions, s.dialOptions...)...)
	if err != nil {
		return nil, fmt.Errorf("toolsearch: %w", err)
	}
	return &Client{
		ToolSearchServiceClient: toolsearchv1.NewToolSearchServiceClient(conn),
		CatalogServiceClient:    toolsearchv1.NewCatalogServiceClient(conn),
		conn:                    conn,
	}, nil
}

// Close ends the connection, and with it the calls and watches under way.
func (c *Client) Close() error { return c.conn.Close() }

// GetTools describes entries in full by canonical name or alias, in the order asked for. An answer has a largest size; names
// that did not fit are asked for again until all of them are there.
func (c *Client) GetTools(
	ctx context.Context, request *toolsearchv1.GetToolsRequest, options ...grpc.CallOption,
) (*toolsearchv1.GetToolsResponse, error) {
	found, err := c.ToolSearchServiceClient.GetTools(ctx, request, options...)
	if err != nil {
		return nil, err
	}
	for len(found.GetOmittedNames()) > 0 {
		rest := proto.CloneOf(request)
		rest.Names = found.GetOmittedNames()
		more, err := c.ToolSearchServiceClient.GetTools(ctx, rest, options...)
		if err != nil {
			return nil, err
		}
		progress := len(more.GetOmittedNames()) < len(rest.Names)
		found.Entries = append(found.Entries, more.GetEntries()...)
		found.Missing = append(found.Missing, more.GetMissing()...)
		found.Version, found.OmittedNames = more.GetVersion(), more.GetOmittedNames()
		if !progress {
			break // the caller sees in OmittedNames what did not come
		}
	}
	return found, nil
}

// routed is the same for the same caller, and tells nobody who it is.
func (s *settings) routed() string {
	if s.route != nil {
		return *s.route
	}
	credential := s.apiKey
	if s.tenant == "" && credential == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(s.tenant + "\n" + credential))
	return hex.EncodeToString(sum[:])[:16]
}

func (s *settings) credentials(target string) ([]grpc.DialOption, error) {
	switch {
	case s.hasAPIKey && s.apiKey == "":
		return nil, errors.New("toolsearch: the API key is empty")
	case s.hasAPIKey && s.tls == nil && !onThisMachine(target):
		return nil, fmt.Errorf("toolsearch: the API key would travel to %s in the clear: use WithTLS", target)
	}
	transport := insecure.NewCredentials()
	if s.tls != nil {
		transport = credentials.NewTLS(s.tls)
	} else if s.hasAPIKey {
		transport = local.NewCredentials() // refuses connections that leave the machine, whatever the target resolved to
	}
	options := []grpc.DialOption{grpc.WithTransportCredentials(transport)}
	if s.hasAPIKey {
		options = append(options, grpc.WithPerRPCCredentials(bearer{key: s.apiKey, needsTLS: s.tls != nil}))
	}
	return options, nil
}

func onThisMachine(target string) bool {
	if strings.HasPrefix(target, "unix:") {
		return true
	}
	endpoint := target[strings.LastIndex(target, "/")+1:]
	host, _, err := net.SplitHostPort(endpoint)
	if err != nil {
		host = strings.Trim(endpoint, "[]")
	}
	return host == "localhost" || net.ParseIP(host).IsLoopback()
}

type bearer struct {
	key      string
	needsTLS bool
}

func (b bearer) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"authorization": "Bearer " + b.key}, nil
}

func (b bearer) RequireTransportSecurity() bool { return b.needsTLS }
