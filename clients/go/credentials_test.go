package toolsearch_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"math/big"
	"net"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"

	toolsearch "github.com/toolsearch/toolsearch/clients/go"
	"github.com/toolsearch/toolsearch/clients/go/toolsearchv1"
)

// receiver is a server that shows what credentials arrive.
func receiver() (*scriptedServer, <-chan context.Context) {
	arrived := make(chan context.Context, 1)
	return &scriptedServer{search: func(ctx context.Context, _ *toolsearchv1.SearchToolsRequest) (*toolsearchv1.SearchToolsResponse, error) {
		arrived <- ctx
		return &toolsearchv1.SearchToolsResponse{}, nil
	}}, arrived
}

func TestTheAPIKeyTravelsOverTLS(t *testing.T) {
	certificate, pool := certificate(t)
	server, arrived := receiver()
	address := serve(t, server, grpc.Creds(credentials.NewServerTLSFromCert(&certificate)))
	client := connect(t, address, toolsearch.WithTLS(&tls.Config{RootCAs: pool}), toolsearch.WithAPIKey("secret"), toolsearch.WithTenant("me"))
	if _, err := client.SearchTools(t.Context(), searchFor("x")); err != nil {
		t.Fatal(err)
	}
	ctx := <-arrived
	if header(ctx, "authorization") != "Bearer secret" || header(ctx, "x-toolsearch-tenant") != "me" {
		t.Errorf("authorization %q, tenant %q", header(ctx, "authorization"), header(ctx, "x-toolsearch-tenant"))
	}
}

func TestTheRouteIsThatOfTheCallerUnlessSaid(t *testing.T) {
	server, arrived := receiver()
	address := serve(t, server)
	for _, given := range []struct {
		options []toolsearch.Option
		route   string // as the Python client's tests have it: all clients of a caller take the same route
	}{
		{nil, ""},
		{[]toolsearch.Option{toolsearch.WithTenant("me")}, "355f5c09a49a179a"},
		{[]toolsearch.Option{toolsearch.WithAPIKey("secret")}, "0036889fd7fee295"},
		{[]toolsearch.Option{toolsearch.WithTenant("me"), toolsearch.WithAPIKey("secret")}, "9571c8ee5e6273dc"},
		{[]toolsearch.Option{toolsearch.WithTenant("me"), toolsearch.WithRoute("acme")}, "acme"},
		{[]toolsearch.Option{toolsearch.WithTenant("me"), toolsearch.WithRoute("")}, ""},
	} {
		client := connect(t, address, given.options...)
		for range 2 {
			if _, err := client.SearchTools(t.Context(), searchFor("x")); err != nil {
				t.Fatal(err)
			}
			if got := header(<-arrived, "x-toolsearch-route"); got != given.route {
				t.Errorf("route %q instead of %q", got, given.route)
			}
		}
	}
}

func TestAServerWithAnUnknownCertificateGetsNothing(t *testing.T) {
	certificate, _ := certificate(t)
	server, arrived := receiver()
	address := serve(t, server, grpc.Creds(credentials.NewServerTLSFromCert(&certificate)))
	client := connect(t, address, toolsearch.WithTLS(nil), toolsearch.WithAPIKey("secret"))
	if _, err := client.SearchTools(t.Context(), searchFor("x")); err == nil || len(arrived) != 0 {
		t.Errorf("%v", err)
	}
}

func TestWithoutTLSTheAPIKeyStaysOnThisMachine(t *testing.T) {
	server, arrived := receiver()
	_, port, _ := net.SplitHostPort(serve(t, server))
	for _, target := range []string{"127.0.0.1:" + port, "localhost:" + port, "dns:///localhost:" + port} {
		if _, err := connect(t, target, toolsearch.WithAPIKey("secret")).SearchTools(t.Context(), searchFor("x")); err != nil {
			t.Fatalf("%s: %v", target, err)
		}
		if got := header(<-arrived, "authorization"); got != "Bearer secret" {
			t.Errorf("%s: %q", target, got)
		}
	}
	for _, target := range []string{
		"toolsearch.example:50051", "10.0.0.1:50051", "dns:///toolsearch.example", "localhost.example:1", "[2001:db8::1]:50051", "",
	} {
		if _, err := toolsearch.New(target, toolsearch.WithAPIKey("secret")); err == nil || !strings.Contains(err.Error(), "TLS") {
			t.Errorf("%s: %v", target, err)
		}
	}
	if _, err := connect(t, shared.Address, toolsearch.WithTenant(newTenant()), toolsearch.WithAPIKey("secret")).ListCatalogs(t.Context(), nil); err != nil {
		t.Errorf("a real server: %v", err)
	}
}

func TestANameThatOnlyLooksLikeThisMachineDoesNotGetTheAPIKey(t *testing.T) {
	elsewhere := addressOfThisMachineOnANetwork(t)
	listener, err := net.Listen("tcp", net.JoinHostPort(elsewhere, "0"))
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	names := manual.NewBuilderWithScheme("names")
	names.InitialState(resolver.State{Addresses: []resolver.Address{{Addr: listener.Addr().String()}}})
	client := connect(t, "names:///localhost", toolsearch.WithAPIKey("secret"), toolsearch.WithDialOptions(grpc.WithResolvers(names)))
	if _, err := client.SearchTools(t.Context(), searchFor("x")); err == nil || !strings.Contains(err.Error(), "non-local") {
		t.Errorf("%v", err)
	}
}

func TestAnEmptyAPIKeyIsRefused(t *testing.T) {
	if _, err := toolsearch.New("localhost:50051", toolsearch.WithAPIKey("")); err == nil {
		t.Error("it was taken")
	}
}

func addressOfThisMachineOnANetwork(t *testing.T) string {
	t.Helper()
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, address := range addresses {
		if network, ok := address.(*net.IPNet); ok && network.IP.IsGlobalUnicast() {
			return network.IP.String()
		}
	}
	t.Skip("this machine is on no network")
	return ""
}

func certificate(t *testing.T) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		IPAddresses:           []net.IP{net.IPv4(127, 0, 0, 1)},
		NotAfter:              time.Now().Add(time.Hour),
		IsCA:                  true,
		BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(parsed)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pool
}
