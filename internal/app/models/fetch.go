package models

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"github.com/memcore/memcore/embed/pack"
	"github.com/memcore/memcore/internal/safefile"
)

// A Release is a pack that can be fetched.
type Release struct {
	Name    string `json:"name"`
	About   string `json:"about"`
	Licence string `json:"licence"`
	Bytes   int64  `json:"bytes"`
	SHA256  string `json:"sha256"` // of the whole file
	URL     string `json:"url"`
}

// releases is where packs lie; models never change once they are there.
const releases = "https://github.com/memcore/memcore/releases/download/models/"

// E5 is the model for texts of many languages.
const E5 = "multilingual-e5-small"

// Releases are all packs of this release of memcore; embed/pack/README.md says how they are made.
var Releases = []Release{{
	Name: E5, About: "a hundred languages, also a question in one and a note in another", Licence: "MIT", Bytes: 84906041,
	SHA256: "0a7b26e4e18c9774a0870408e552053a6b03183f319cabd9b37c124706dc81d2",
	URL:    releases + "multilingual-e5-small-0a7b26e4e18c.memcore",
}}

// Errors of Fetch, which wrap what happened.
var (
	ErrNetwork  = errors.New("the model could not be fetched")
	ErrChecksum = errors.New("what was fetched is not the model")
)

// partial is a pack that is not whole yet.
func (f Folder) partial(name string) string { return filepath.Join(string(f), name+".part") }

// headerTimeout bounds the wait for an answer; the rest may take as long as it moves.
const (
	headerTimeout = 30 * time.Second
	stallTimeout  = time.Minute
)

// lockPause is how often a process that waits for another one's download looks.
const lockPause = 100 * time.Millisecond

// Fetch downloads a pack, or the rest of it. HTTPS_PROXY and NO_PROXY count. progress gets the
// bytes that are there, now and then. It waits while another process fetches the pack.
func (f Folder) Fetch(ctx context.Context, r Release, progress func(done int64)) (Installed, error) {
	if err := safefile.MkdirAll(string(f), 0o700); err != nil {
		return Installed{}, fmt.Errorf("models: %w", err)
	}
	unlock, waited, err := f.lock(ctx, r.Name)
	if err != nil {
		return Installed{}, fmt.Errorf("models: lock: %w", err)
	}
	defer unlock()
	if known, err := f.Of(r.Name); waited && err == nil {
		return known, nil
	}
	part, err := os.OpenFile(f.partial(r.Name), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return Installed{}, fmt.Errorf("models: %w", err)
	}
	defer part.Close()
	if err := download(ctx, r, part, progress); err != nil {
		return Installed{}, fmt.Errorf("%w from %s: %w", ErrNetwork, r.URL, err)
	}
	if err := part.Sync(); err != nil {
		return Installed{}, fmt.Errorf("models: %w", err)
	}
	if err := check(part, r.SHA256); err != nil {
		return Installed{}, errors.Join(fmt.Errorf("%s: %w: %w", r.URL, ErrChecksum, err), part.Close(), os.Remove(part.Name()))
	}
	if err := part.Close(); err != nil {
		return Installed{}, fmt.Errorf("models: %w", err)
	}
	if _, err := pack.VerifyFile(part.Name()); err != nil {
		return Installed{}, fmt.Errorf("%s: %w: %w", r.URL, ErrChecksum, err)
	}
	return f.take(part.Name(), r.Name)
}

// lock is held by one process that fetches a pack.
func (f Folder) lock(ctx context.Context, name string) (unlock func(), waited bool, err error) {
	lock := flock.New(filepath.Join(string(f), name+".lock"), flock.SetPermissions(0o600))
	free, err := lock.TryLock()
	if err == nil && !free {
		waited = true
		_, err = lock.TryLockContext(ctx, lockPause)
	}
	return func() { lock.Unlock() }, waited, err
}

// download continues where the file ends, if the server can.
func download(ctx context.Context, r Release, part *os.File, progress func(int64)) error {
	have, err := part.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	if have == r.Bytes {
		return nil
	}
	if have > r.Bytes {
		have = 0
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, r.URL, nil)
	if err != nil {
		return err
	}
	if have > 0 {
		request.Header.Set("Range", fmt.Sprintf("bytes=%d-", have))
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.ResponseHeaderTimeout = headerTimeout
	defer transport.CloseIdleConnections()
	answer, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	switch answer.StatusCode {
	case http.StatusOK:
		have = 0
	case http.StatusPartialContent:
	default:
		return fmt.Errorf("the server answered %s", answer.Status)
	}
	if n := answer.ContentLength; n >= 0 && have+n < r.Bytes { // as the page of a network that wants a login
		return fmt.Errorf("the server sends %d of %d bytes, which is another file", have+n, r.Bytes)
	}
	if err := errors.Join(part.Truncate(have), seek(part, have)); err != nil {
		return err
	}
	stalled := time.AfterFunc(stallTimeout, func() { stop(fmt.Errorf("nothing came for %v", stallTimeout)) })
	defer stalled.Stop()
	body := counted{answer.Body, have, func(done int64) {
		stalled.Reset(stallTimeout)
		if progress != nil {
			progress(done)
		}
	}}
	n, err := io.Copy(part, io.LimitReader(&body, r.Bytes-have+1))
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return err
	case have+n < r.Bytes:
		return fmt.Errorf("the connection ended after %d of %d bytes: run the command again to continue", have+n, r.Bytes)
	}
	return nil
}

func seek(f *os.File, to int64) error {
	_, err := f.Seek(to, io.SeekStart)
	return err
}

// counted reports how much was read in all.
type counted struct {
	io.Reader
	done int64
	say  func(int64)
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	if n > 0 {
		c.done += int64(n)
		c.say(c.done)
	}
	return n, err
}

func check(f *os.File, want string) error {
	digest := sha256.New()
	if err := seek(f, 0); err != nil {
		return err
	}
	if _, err := io.Copy(digest, f); err != nil {
		return err
	}
	if got := hex.EncodeToString(digest.Sum(nil)); got != want {
		return fmt.Errorf("its SHA-256 is %s, want %s", got, want)
	}
	return nil
}
