package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/notes"
	"github.com/memcore/memcore/core/tools"
	"github.com/memcore/memcore/inject/remote"
	"github.com/memcore/memcore/internal/app/config"
	"github.com/memcore/memcore/internal/jsonfile"
	"github.com/memcore/memcore/internal/kind"
	"github.com/memcore/memcore/internal/safefile"
	"github.com/memcore/memcore/internal/text/plain"
	"github.com/memcore/memcore/internal/text/sanitize"
	"github.com/memcore/memcore/internal/userdir"
)

// A Remote is the memory service that the user has configured.
type Remote struct{ w *Workspace }

// RemoteOf returns the user's memory service.
func RemoteOf(w *Workspace) Remote { return Remote{w} }

// IsConfigured reports whether there is one.
func (r Remote) IsConfigured() bool { return r.w.Settings.Service.URL != "" }

// maxKey is in bytes.
const maxKey = 8 << 10

// Key returns the environment's key, else the kept one; "" for none.
func (r Remote) Key() (string, error) {
	if key := strings.TrimSpace(os.Getenv(r.w.Settings.Service.KeyEnv)); key != "" {
		return key, nil
	}
	at, err := r.w.Folders()
	if err != nil {
		return "", err
	}
	data, info, err := safefile.ReadPath(at.ServiceKey(), maxKey)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err == nil && runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		return "", fmt.Errorf("%s can be read by others: chmod 600, and ask for a new key", at.ServiceKey())
	}
	return strings.TrimSpace(string(data)), err
}

// errNoKey means that a service is configured without a key.
var errNoKey = errors.New("no key: memcore init --server URL asks for it")

// Client returns a client of the service.
func (r Remote) Client(o remote.Options) (*remote.Client, error) {
	key, err := r.Key()
	if err != nil {
		return nil, err
	}
	if key == "" {
		return nil, errNoKey
	}
	return remote.New(r.w.Settings.Service.URL, key, o)
}

// Join lets the index ask the service, too.
func (r Remote) Join(options *core.Options, at config.Folders) {
	if !r.IsConfigured() {
		return
	}
	options.RemoteRest = at.ServiceRest()
	if c, err := r.Client(remote.Options{Tries: 2}); err != nil {
		options.Remote = unusable{err}
	} else {
		options.Remote = remote.Remote{Client: c}
	}
}

// An unusable service cannot be asked.
type unusable struct{ err error }

func (u unusable) Retrieve(context.Context, string, core.RetrieveOptions) (core.Result, error) {
	return core.Result{}, u.err
}

func (u unusable) Search(context.Context, string, core.SearchOptions) (core.Result, error) {
	return core.Result{}, u.err
}

// checkTimeout limits a person's wait for the service.
const checkTimeout = 5 * time.Second

// Check asks the service whose key it is.
func (r Remote) Check(ctx context.Context) (remote.Identity, error) {
	c, err := r.Client(remote.Options{RetryFor: checkTimeout})
	if err != nil {
		return remote.Identity{}, err
	}
	ctx, stop := context.WithTimeout(ctx, checkTimeout)
	defer stop()
	return c.Whoami(ctx)
}

// A RemoteState is what is known of the service.
type RemoteState struct {
	URL string `json:"url"`
	remote.Identity
	Problem string `json:"problem,omitempty"` // why it does not answer
}

// State asks the service; nil if none is configured.
func (r Remote) State(ctx context.Context) *RemoteState {
	if !r.IsConfigured() {
		return nil
	}
	s := &RemoteState{URL: plain.Address(r.w.Settings.Service.URL)}
	var err error
	if s.Identity, err = r.Check(ctx); err != nil {
		s.Problem = err.Error()
	}
	return s
}

// Text describes the state in a line.
func (s RemoteState) Text() string {
	if s.Problem != "" {
		return s.URL + ": " + s.Problem
	}
	text := fmt.Sprintf("%s answers; you are %s of %s and may %s", s.URL, plain.Member(s.User, s.Teams), s.Tenant, strings.Join(s.Rights, ", "))
	if !s.Expires.IsZero() {
		text += ", until " + s.Expires.Local().Format(time.DateOnly)
	}
	return text
}

// saveTimeout limits a save.
const saveTimeout = 30 * time.Second

// Save saves curated memory of the tenant, without secrets.
func (r Remote) Save(ctx context.Context, asked notes.SaveRequest) (tools.Answer, error) {
	if asked.Private {
		return tools.Answer{}, fmt.Errorf("%w: the service has no private files: leave out private", tools.ErrArguments)
	}
	c, err := r.Client(remote.Options{})
	if err != nil {
		return tools.Answer{}, err
	}
	save := remote.SaveRequest{Section: asked.Section, Target: notes.TargetProject, Supersedes: asked.Supersedes}
	var found, more []notes.Redaction
	save.Content, found = notes.Clean(asked.Content)
	save.Section, more = notes.Clean(asked.Section)
	if strings.TrimSpace(save.Content) == "" {
		return tools.Answer{}, fmt.Errorf("%w: %w", tools.ErrArguments, notes.ErrNothing)
	}
	ctx, stop := context.WithTimeout(ctx, saveTimeout)
	defer stop()
	answer, err := c.Save(ctx, save)
	if err != nil {
		return tools.Answer{}, err
	}
	answer.Text, _ = sanitize.Text(answer.Text)
	if found = append(found, more...); len(found) > 0 {
		answer.Text += " Text that looks like a secret was removed (" + found[0].Rule + ")."
	}
	return answer, nil
}

// CheckKey asks a service that is not configured yet. The errors say what to do.
func (r Remote) CheckKey(ctx context.Context, address, key string) (remote.Identity, error) {
	c, err := remote.New(address, key, remote.Options{RetryFor: checkTimeout})
	if err != nil {
		return remote.Identity{}, kind.As(kind.BadInput, err)
	}
	ctx, stop := context.WithTimeout(ctx, 3*checkTimeout)
	defer stop()
	who, err := c.Whoami(ctx)
	var status *remote.Error
	switch {
	case err == nil:
		return who, nil
	case errors.As(err, &status) && (status.Status == 401 || status.Status == 403):
		return who, kind.Hint(err, "check the key: who runs the service makes it, for this address")
	case errors.As(err, &status) && status.Status == 404:
		return who, kind.Hint(err, "check the address: it is of the form https://host/v1/tenants/NAME")
	}
	return who, kind.Hint(err, "check the address and the network")
}

// KeepKey keeps the key, for the user only; "" deletes it.
func (r Remote) KeepKey(key string) error {
	at, err := r.w.Folders()
	if err != nil {
		return err
	}
	for _, file := range []string{at.ServiceRest(), at.ServiceContext()} { // of another service
		if err := remove(file); err != nil {
			return err
		}
	}
	// An existing file would keep its permissions.
	if err := remove(at.ServiceKey()); err != nil || key == "" {
		return err
	}
	if err := safefile.MkdirAll(at.State, 0o700); err != nil {
		return err
	}
	return safefile.Replace(at.State, userdir.ServiceKeyFile, []byte(key+"\n"), 0o600)
}

func remove(file string) error {
	if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// A keptContext is what the service last had for the system prompt.
type keptContext struct {
	URL  string    `json:"url"` // whose it is
	At   time.Time `json:"at"`
	Text string    `json:"text"`
}

const (
	// serviceBudget limits a session's wait for the service.
	serviceBudget = 300 * time.Millisecond
	// contextWait limits that wait if there is a copy.
	contextWait = 80 * time.Millisecond
	// contextFresh is how long a copy is used without asking. A proxy would ask at each request.
	contextFresh = 30 * time.Second
)

// Context returns the service's curated memory; if it is late or fails, the last copy and the
// error.
func (r Remote) Context(ctx context.Context) (string, error) {
	if !r.IsConfigured() {
		return "", nil
	}
	at, err := r.w.Folders()
	if err != nil {
		return "", err
	}
	kept, err := jsonfile.LoadDerived[keptContext](at.ServiceContext())
	if err != nil || kept.URL != r.w.Settings.Service.URL {
		kept = keptContext{}
	}
	if age := time.Since(kept.At); age >= 0 && age < contextFresh {
		return kept.Text, nil
	}
	c, err := r.Client(remote.Options{Tries: 1})
	if err != nil {
		return kept.Text, fmt.Errorf("memory service: %w", err)
	}
	wait := serviceBudget
	if kept.Text != "" {
		wait = min(wait, contextWait)
	}
	if deadline, ok := ctx.Deadline(); ok {
		wait = min(wait, time.Until(deadline)/2)
	}
	ctx, stop := context.WithTimeout(ctx, wait)
	defer stop()
	text, err := c.Context(ctx)
	if err != nil {
		return kept.Text, err
	}
	text, _ = sanitize.Reveal(text)
	kept = keptContext{URL: r.w.Settings.Service.URL, At: time.Now(), Text: strings.TrimSpace(text)}
	if err := safefile.MkdirAll(filepath.Dir(at.ServiceContext()), 0o700); err == nil {
		_ = jsonfile.Save(at.ServiceContext(), kept) // without it, a late service has no last copy
	}
	return kept.Text, nil
}

// maxContext limits the text of Context, as the library limits curated memory.
const maxContext = 50 << 10

// contextIn shortens Context to room characters; 0 is maxContext.
func (r Remote) contextIn(text string, room int) string {
	if room == 0 || room > maxContext {
		room = maxContext
	}
	const note = "\n\n(The rest does not fit.)"
	if utf8.RuneCountInString(text) <= room {
		return text
	}
	room -= utf8.RuneCountInString(note)
	if room <= 0 {
		return ""
	}
	short := string([]rune(text)[:room])
	short = short[:max(strings.LastIndexByte(short, '\n'), 0)]
	if strings.TrimSpace(short) == "" {
		return ""
	}
	return short + note
}
