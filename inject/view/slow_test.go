package view

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A form that does not come to its end is answered in time, on every page that reads one, and holds
// no connection. What comes whole has no deadline.
func TestFormsThatStop(t *testing.T) {
	before := formWait
	t.Cleanup(func() { formWait = before })
	formWait = 50 * time.Millisecond
	v := newVisitor(t)
	v.open(t, "/a")
	at, err := url.Parse(v.server.URL + "/w/" + idOf("/a") + "/")
	require.NoError(t, err)
	cookie := v.Jar.Cookies(at)[0].String()
	for _, tt := range []struct{ page, cookie string }{{"change", ""}, {"change", cookie}, {"case", cookie}} {
		t.Run(tt.page+tt.cookie, func(t *testing.T) {
			c, err := net.Dial("tcp", at.Host)
			require.NoError(t, err)
			defer c.Close()
			require.NoError(t, c.SetDeadline(time.Now().Add(time.Minute)))
			fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: %s\r\nOrigin: http://%s\r\nCookie: %s\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 100\r\n\r\nhow=", at.Path+tt.page, at.Host, at.Host, tt.cookie)
			response, err := http.ReadResponse(bufio.NewReader(c), nil)
			require.NoError(t, err)
			body, err := io.ReadAll(response.Body)
			require.NoError(t, err)
			require.Equal(t, http.StatusRequestTimeout, response.StatusCode, string(body))
			_, err = c.Read(make([]byte, 1))
			require.ErrorIs(t, err, io.EOF, "the connection is closed")
		})
	}
}

// busyMemories count the pages that use a memory.
type busyMemories struct {
	fakeMemories
	using *atomic.Int64
}

func (m busyMemories) Use(ctx context.Context, folder string, do func(Memory) error) error {
	m.using.Add(1)
	defer m.using.Add(-1)
	return m.fakeMemories.Use(ctx, folder, do)
}

// An unread client takes nothing of an answer until its end.
type unread struct {
	*httptest.ResponseRecorder
	writing *sync.WaitGroup
	end     chan struct{}
}

func (u unread) Write(p []byte) (int, error) {
	u.writing.Done()
	<-u.end
	return len(p), nil
}

// Clients who do not read hold no memory and keep no others from theirs.
func TestUnreadPages(t *testing.T) {
	var using atomic.Int64
	s := New(busyMemories{using: &using}, "v1")
	opened := httptest.NewRecorder()
	path, _ := s.Link("/a")
	s.Handler().ServeHTTP(opened, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://127.0.0.1"+path, nil))
	var writing, answering sync.WaitGroup
	end := make(chan struct{})
	for range 2 * maxAtOnce {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://127.0.0.1"+opened.Header().Get("Location"), nil)
		r.Header.Set("Cookie", opened.Header().Get("Set-Cookie"))
		writing.Add(1)
		answering.Go(func() { s.Handler().ServeHTTP(unread{httptest.NewRecorder(), &writing, end}, r) })
	}
	writing.Wait()
	held := using.Load()
	close(end)
	answering.Wait()
	require.Zero(t, held)
}
