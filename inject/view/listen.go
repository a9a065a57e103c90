package view

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"sync"

	"github.com/memcore/memcore/inject/httpapi"
	"github.com/memcore/memcore/internal/web/overload"
)

// connections are more than a browser needs, with a stream of events for each of its pages, and few
// enough to hold their answers in memory.
const connections = 128

// A Site listens on loopback once there is a link. It is safe for concurrent use.
type Site struct {
	pages *Server

	mu      sync.Mutex
	address string
	server  *http.Server
	ended   chan struct{}
	closed  bool
}

// NewSite returns a site of pages.
func NewSite(pages *Server) *Site { return &Site{pages: pages} }

// Link returns a link to the pages of a workspace.
func (s *Site) Link(folder string) (httpapi.ViewReply, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return httpapi.ViewReply{}, httpapi.ErrClosed
	}
	if s.server == nil {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return httpapi.ViewReply{}, fmt.Errorf("listen for a browser: %w", err)
		}
		s.address = listener.Addr().String()
		s.server = &http.Server{Handler: s.pages.Handler(), ErrorLog: log.New(io.Discard, "", 0)}
		listener = overload.Protect(s.server, listener, overload.Options{Connections: connections, Admit: isOurs})
		s.ended = make(chan struct{})
		go func() {
			defer close(s.ended)
			_ = s.server.Serve(listener) // until Close
		}()
	}
	path, expires := s.pages.Link(folder)
	return httpapi.ViewReply{URL: "http://" + s.address + path, Expires: expires}, nil
}

// Close ends the site after its requests, or when ctx ends.
func (s *Site) Close(ctx context.Context) {
	s.mu.Lock()
	server := s.server
	s.closed = true
	s.mu.Unlock()
	s.pages.EndStreams()
	if server == nil {
		return
	}
	if server.Shutdown(ctx) != nil {
		server.Close()
	}
	<-s.ended
}
