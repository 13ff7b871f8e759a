package toolsearch

import (
	"sync"

	"github.com/toolsearch/toolsearch/clients/go/toolsearchv1"
)

// session is what a client remembers between calls: its own writes, so that its reads see them.
type session struct {
	mu       sync.Mutex
	versions map[string]*toolsearchv1.Version // by catalog
}

// written is the latest version of a catalog that this client wrote, or nil.
func (s *session) written(catalog string) *toolsearchv1.Version {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.versions[catalog]
}

func (s *session) remember(request, response any) {
	switch response := response.(type) {
	case interface {
		GetVersion() *toolsearchv1.Version
		GetSummary() *toolsearchv1.ChangeSummary
	}:
		s.note(catalogOf(request), response.GetVersion())
	case *toolsearchv1.UpdateSettingsResponse:
		s.note(catalogOf(request), response.GetVersion())
	case *toolsearchv1.DeleteCatalogResponse:
		s.note(catalogOf(request), nil)
	}
}

func (s *session) note(catalog string, version *toolsearchv1.Version) {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.versions[catalog]
	switch {
	case version == nil:
		delete(s.versions, catalog)
	case known != nil && known.GetEpoch() == version.GetEpoch() && known.GetRevision() > version.GetRevision():
		// Answers of calls made at the same time may come in any order.
	case s.versions == nil:
		s.versions = map[string]*toolsearchv1.Version{catalog: version}
	default:
		s.versions[catalog] = version
	}
}

func catalogOf(request any) string { return request.(interface{ GetCatalog() string }).GetCatalog() }
