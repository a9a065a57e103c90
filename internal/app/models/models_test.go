package models

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/embed"
	"github.com/memcore/memcore/embed/pack"
	"github.com/memcore/memcore/embed/pack/packtest"
)

func written(t *testing.T, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "some.file")
	require.NoError(t, os.WriteFile(path, data, 0o600))
	return path
}

func TestFolder(t *testing.T) {
	f := Folder(filepath.Join(t.TempDir(), "models"))
	all, problems := f.List()
	require.Empty(t, all)
	require.Empty(t, problems)

	file := written(t, packtest.Small(t, "small"))
	added, err := f.Add(t.Context(), file)
	require.NoError(t, err)
	require.Equal(t, "small", added.Name)
	all, problems = f.List()
	require.Equal(t, []Installed{added}, all)
	require.Empty(t, problems)

	m, err := f.Open("small")
	require.NoError(t, err)
	again, err := f.Open("small")
	require.NoError(t, err)
	require.Same(t, m, again)
	require.Same(t, m, f.WithFingerprint(added.Fingerprint()))
	require.Nil(t, f.WithFingerprint("pack/other"))
	_, err = m.Embed(t.Context(), embed.Document, []string{"a"})
	require.NoError(t, err)

	_, err = f.Add(t.Context(), file) // again, while it is in use
	require.NoError(t, err)
	again, err = f.Open("small")
	require.NoError(t, err)
	require.NotSame(t, m, again, "the file that was replaced may be damaged")
	require.NoError(t, os.WriteFile(f.Path("broken"), []byte("x"), 0o600))
	all, problems = f.List()
	require.Len(t, all, 1)
	require.Len(t, problems, 1)
	require.NoError(t, f.Remove("broken"), "what cannot be read can be removed")
	require.NoError(t, os.Link(f.Path("small"), f.Path("renamed")))
	all, problems = f.List()
	require.Len(t, all, 1)
	require.ErrorContains(t, problems[0], "it is small")
	require.NoError(t, f.Remove("renamed"))
	require.NoError(t, f.Remove("small"))
	require.ErrorIs(t, f.Remove("small"), ErrMissing)
	_, err = f.Open("small")
	require.ErrorIs(t, err, ErrMissing)
	_, err = f.Of("../small")
	require.ErrorIs(t, err, ErrMissing)
}

func TestAddRefuses(t *testing.T) {
	f := Folder(t.TempDir())
	good := packtest.Small(t, "small")
	for name, data := range map[string][]byte{
		"empty": nil, "text": []byte("some text"), "cut": good[:len(good)-1], "damaged": append(good[:len(good)-1:len(good)-1], good[len(good)-1]^1),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := f.Add(t.Context(), written(t, data))
			require.ErrorIs(t, err, pack.ErrFormat)
		})
	}
	_, err := f.Add(t.Context(), filepath.Join(t.TempDir(), "none"))
	require.ErrorIs(t, err, os.ErrNotExist)
	ctx, stop := context.WithCancel(t.Context())
	stop()
	_, err = f.Add(ctx, written(t, good))
	require.ErrorIs(t, err, context.Canceled)
	left, err := os.ReadDir(string(f))
	require.NoError(t, err)
	require.Empty(t, left)
}

// A server of a file can answer ranges, cut the first answer, and say that it is not there.
type server struct {
	data    []byte
	cut     atomic.Int64 // bytes of the next answer; 0 is all
	ranges  bool
	status  int
	asked   atomic.Int32
	resumed atomic.Int32
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.asked.Add(1)
	if s.status != 0 {
		w.WriteHeader(s.status)
		return
	}
	data, status := s.data, http.StatusOK
	if from, ok := strings.CutPrefix(r.Header.Get("Range"), "bytes="); ok && s.ranges {
		n, _ := strconv.Atoi(strings.TrimSuffix(from, "-"))
		data, status = data[n:], http.StatusPartialContent
		s.resumed.Add(1)
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(data)))
	w.WriteHeader(status)
	if cut := s.cut.Swap(0); cut > 0 {
		data = data[:cut]
	}
	w.Write(data)
}

func TestFetch(t *testing.T) {
	data := packtest.Small(t, "small")
	sum := fmt.Sprintf("%x", sha256.Sum256(data))
	for _, tt := range []struct {
		name    string
		server  *server
		sum     string
		want    error
		again   bool // a second try succeeds
		resumed int32
	}{
		{"whole", &server{data: data}, sum, nil, false, 0},
		{"cut, then the rest", &server{data: data, ranges: true}, sum, ErrNetwork, true, 1},
		{"cut, then again from the start", &server{data: data}, sum, ErrNetwork, true, 0},
		{"not there", &server{status: http.StatusNotFound}, sum, ErrNetwork, false, 0},
		{"another file", &server{data: append(data[:len(data)-1:len(data)-1], 'x')}, sum, ErrChecksum, false, 0},
		{"a page instead", &server{data: []byte("log in")}, sum, ErrNetwork, false, 0},
		{"too long", &server{data: append(data[:len(data):len(data)], 'x')}, sum, ErrChecksum, false, 0},
		{"no pack", &server{data: []byte(strings.Repeat("x", len(data)))}, fmt.Sprintf("%x", sha256.Sum256([]byte(strings.Repeat("x", len(data))))), ErrChecksum, false, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.again {
				tt.server.cut.Store(int64(len(data) / 2))
			}
			at := httptest.NewServer(tt.server)
			defer at.Close()
			f := Folder(filepath.Join(t.TempDir(), "models"))
			r := Release{Name: "small", Bytes: int64(len(data)), SHA256: tt.sum, URL: at.URL}
			last := int64(0)
			added, err := f.Fetch(t.Context(), r, func(done int64) { last = done })
			if tt.want != nil {
				require.ErrorIs(t, err, tt.want)
				require.ErrorContains(t, err, at.URL)
			}
			if tt.again {
				added, err = f.Fetch(t.Context(), r, nil)
			}
			if tt.name == "a page instead" {
				part, err := os.ReadFile(f.partial("small"))
				require.NoError(t, err)
				require.Empty(t, part, "or the next try would go on after the page")
			}
			if tt.want == nil || tt.again {
				require.NoError(t, err)
				require.Equal(t, "small", added.Name)
				got, err := os.ReadFile(added.Path)
				require.NoError(t, err)
				require.Equal(t, data, got)
				require.NoFileExists(t, f.partial("small"))
			}
			require.Equal(t, tt.resumed, tt.server.resumed.Load())
			if tt.want == nil {
				require.Equal(t, r.Bytes, last)
			}
		})
	}
	f := Folder(t.TempDir())
	_, err := f.Fetch(t.Context(), Release{Name: "small", Bytes: 9, URL: "http://127.0.0.1:1/x"}, nil)
	require.ErrorIs(t, err, ErrNetwork)
}

// Two processes that fetch a model do not write into each other's file.
func TestFetchAtOnce(t *testing.T) {
	data := packtest.Small(t, "small")
	begun, asked := make(chan struct{}), atomic.Int32{}
	at := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Write(data[:len(data)/2])
		w.(http.Flusher).Flush()
		if asked.Add(1) == 1 {
			close(begun)
			time.Sleep(300 * time.Millisecond) // the other one begins
		}
		w.Write(data[len(data)/2:])
	}))
	defer at.Close()
	f := Folder(filepath.Join(t.TempDir(), "models"))
	r := Release{Name: "small", Bytes: int64(len(data)), SHA256: fmt.Sprintf("%x", sha256.Sum256(data)), URL: at.URL}
	first := make(chan error)
	go func() {
		_, err := f.Fetch(t.Context(), r, nil)
		first <- err
	}()
	<-begun
	added, err := f.Fetch(t.Context(), r, nil)
	require.NoError(t, err)
	require.Equal(t, "small", added.Name)
	require.NoError(t, <-first)
	require.EqualValues(t, 1, asked.Load())
}

func TestVerify(t *testing.T) {
	f := Folder(t.TempDir())
	_, err := f.Verify("small")
	require.ErrorIs(t, err, ErrMissing)
	data := packtest.Small(t, "small")
	added, err := f.Add(t.Context(), written(t, data))
	require.NoError(t, err)
	whole, err := f.Verify("small")
	require.NoError(t, err)
	require.Equal(t, added, whole)
	data[len(data)-1] ^= 1
	require.NoError(t, os.WriteFile(f.Path("small"), data, 0o600))
	_, err = f.Of("small")
	require.NoError(t, err, "its content is not read")
	_, err = f.Verify("small")
	require.ErrorIs(t, err, pack.ErrFormat)
}

func TestKnowing(t *testing.T) {
	f := Folder(t.TempDir())
	require.Equal(t, []string{"memcore model add " + E5}, f.Knowing("minilm"))
	_, err := f.Add(t.Context(), written(t, packtest.Small(t, E5)))
	require.NoError(t, err)
	require.Equal(t, []string{"memcore model add " + E5}, f.Knowing("minilm"))
	require.Equal(t, []string{"memcore index"}, f.Knowing(E5))
}

func TestAbsent(t *testing.T) {
	a := Absent{Name: "small", Err: ErrMissing}
	_, err := a.Embed(t.Context(), embed.Query, []string{"a"})
	require.ErrorIs(t, err, embed.ErrUnavailable)
	require.ErrorContains(t, err, "memcore model add small")
	vecs, err := a.Embed(t.Context(), embed.Query, nil)
	require.NoError(t, err)
	require.Empty(t, vecs)
}
