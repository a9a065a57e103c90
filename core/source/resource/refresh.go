package resource

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/memcore/memcore/core/source"
	"github.com/memcore/memcore/internal/jsonfile"
	"github.com/memcore/memcore/internal/paths"
	"github.com/memcore/memcore/internal/text/charset"
	"github.com/memcore/memcore/internal/text/secret"
	"github.com/memcore/memcore/internal/web/reply"
)

// Limits of a server's answers.
const (
	maxListed = 10_000 // resources
	maxURI    = 1024   // in bytes
)

// A Report is the result of Refresh.
type Report struct {
	// Warnings say what was left out and why, for a person.
	Warnings []string
	// Redacted cites the lines of the secrets removed from new text, by rule.
	Redacted map[string][]string
}

// Refresh reads and stores the server's resources, unless it did so within that time. After an
// error they stay.
func (s *Source) Refresh(ctx context.Context, within time.Duration) (Report, error) {
	ctx, stop := context.WithTimeout(ctx, s.server.Timeout)
	defer stop()
	unlock, err := jsonfile.Lock(ctx, s.stateFile())
	if err != nil {
		last, _ := s.load()
		return Report{}, s.unreadError(err, last)
	}
	defer unlock()
	before, err := jsonfile.LoadDerived[state](s.stateFile())
	if err != nil {
		return Report{}, s.unreadError(err, before)
	}
	if within > 0 && time.Since(before.Tried).Abs() < within {
		return Report{}, nil
	}
	f := &fetch{Source: s, old: map[string]storedResource{}, leftOut: map[string]int{}, examples: map[string][]string{}}
	for _, k := range before.Documents {
		f.old[k.URI] = k
	}
	asked := f.all(ctx)
	now := state{Tried: time.Now().UTC(), Read: before.Read, Documents: before.Documents}
	if asked == nil {
		now.Read, now.Documents = now.Tried, f.found
	}
	if err := jsonfile.Save(s.stateFile(), now); err != nil {
		return Report{}, s.unreadError(err, before)
	}
	if asked != nil {
		return Report{}, s.unreadError(asked, before)
	}
	return f.report(), s.removeFormer(now)
}

func (s *Source) unreadError(err error, before state) error {
	stay := ""
	if n := len(before.Documents); n > 0 {
		stay = fmt.Sprintf("; what was read of it on %s stays (resources: %d)", before.Read.Local().Format(time.DateTime), n)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("no answer within %s", s.server.Timeout)
	}
	return fmt.Errorf("MCP server %s was not read: %w%s", s.server.Name, reply.New(err, s.server.keys()...), stay)
}

func (s *Source) removeFormer(now state) error {
	entries, err := os.ReadDir(s.folder)
	if err != nil {
		return fmt.Errorf("tidy %s: %w", s.folder, err)
	}
	for _, entry := range entries {
		isText := len(entry.Name()) == len(hashOf(nil)) && !strings.Contains(entry.Name(), ".")
		if isText && !slices.ContainsFunc(now.Documents, func(k storedResource) bool { return k.Hash == entry.Name() }) {
			err = errors.Join(err, os.Remove(filepath.Join(s.folder, entry.Name())))
		}
	}
	return err
}

// A fetch is one refresh.
type fetch struct {
	*Source
	old      map[string]storedResource // by URI
	found    []storedResource
	bytes    int64
	redacted map[string][]string
	leftOut  map[string]int      // how many, by reason
	examples map[string][]string // the first of them
}

// maxSessions bounds how often a refresh connects.
const maxSessions = 6

// all fails only if no resources are known.
func (f *fetch) all(ctx context.Context) error {
	session, err := f.server.connect(ctx)
	if err != nil {
		return err
	}
	defer func() { session.close() }()
	wanted, err := f.list(ctx, session)
	if err != nil {
		return session.explain(err)
	}
	sessions := 1
	for i, r := range wanted {
		if i == f.server.MaxResources {
			f.leaveOut(wanted[i].URI, fmt.Sprintf("more than %d", f.server.MaxResources), len(wanted)-i)
			break
		}
		k, reason, err := f.inTime(ctx, session, r)
		if breaks(err) && ctx.Err() == nil && sessions < maxSessions { // the others may be read in a session of their own
			sessions++
			if next, failed := f.server.connect(ctx); failed == nil {
				session.close()
				session = next
			}
		}
		switch old, had := f.old[r.URI]; {
		case reason != "":
			f.leaveOut(r.URI, reason, 1)
		case err == nil:
			f.found = append(f.found, k)
			f.bytes += k.Size
		default:
			if i == 0 && ctx.Err() != nil {
				return err
			}
			reason := "not read"
			if had {
				reason = "not read now, and kept as it was"
				f.found = append(f.found, old)
				f.bytes += old.Size
			}
			f.leaveOut(r.URI+": "+reply.New(err, f.server.keys()...).Error(), reason, 1)
		}
	}
	return nil
}

// inTime is one, for half of the time that is left: a resource that hangs leaves some to the
// others.
func (f *fetch) inTime(ctx context.Context, session *session, r *mcp.Resource) (storedResource, string, error) {
	limit := f.server.Timeout
	if deadline, ok := ctx.Deadline(); ok {
		limit = time.Until(deadline) / 2
	}
	inTime, stop := context.WithTimeout(ctx, limit)
	defer stop()
	k, reason, err := f.one(inTime, session, r)
	if err != nil && inTime.Err() != nil && ctx.Err() == nil {
		err = fmt.Errorf("no answer within %s: %w", limit.Round(time.Millisecond), err)
	}
	return k, reason, err
}

// breaks reports whether a session may be of no use after an error: the server did not say it.
func breaks(err error) bool {
	var said *jsonrpc.Error
	return err != nil && (!errors.As(err, &said) || errors.Is(err, mcp.ErrConnectionClosed))
}

// maxNamed is how many of what is left out for one reason a report names.
const maxNamed = 5

func (f *fetch) leaveOut(uri, reason string, n int) {
	f.leftOut[reason] += n
	if len(f.examples[reason]) < maxNamed {
		f.examples[reason] = append(f.examples[reason], fmt.Sprintf("%.300s", uri))
	}
}

func (f *fetch) report() Report {
	r := Report{Redacted: f.redacted}
	for _, reason := range slices.Sorted(maps.Keys(f.leftOut)) {
		n, which, examples := f.leftOut[reason], "such as ", f.examples[reason]
		if n == len(examples) {
			which = ""
		}
		r.Warnings = append(r.Warnings, fmt.Sprintf("MCP server %s: %d of its resources: %s (%s%s)", f.server.Name, n, reason, which, strings.Join(examples, "; ")))
	}
	return r
}

// list returns matching resources, then patterns that are unlisted URIs.
func (f *fetch) list(ctx context.Context, session *session) ([]*mcp.Resource, error) {
	patterns := f.server.Resources
	if len(patterns) == 0 {
		patterns = []string{"**"}
	}
	wants, exact := compile(patterns)
	var wanted []*mcp.Resource
	seen := map[string]bool{}
	take := func(r *mcp.Resource) {
		if seen[r.URI] {
			return
		}
		seen[r.URI] = true
		if reason := refused(r.URI); reason != "" {
			f.leaveOut(r.URI, reason, 1)
			return
		}
		wanted = append(wanted, r)
	}
	listed := 0
	for r, err := range session.Resources(ctx, nil) {
		if err != nil {
			if len(exact) == len(patterns) && ctx.Err() == nil {
				break // all wanted URIs are known
			}
			return nil, fmt.Errorf("list resources: %w", err)
		}
		if listed++; listed > maxListed {
			f.leaveOut(r.URI, fmt.Sprintf("the server lists more than %d", maxListed), 1)
			break
		}
		if r != nil && wants.MatchString(r.URI) {
			take(r)
		}
	}
	for _, uri := range exact {
		take(&mcp.Resource{URI: uri})
	}
	return wanted, nil
}

// exact are the patterns that are URIs.
func compile(patterns []string) (wants *regexp.Regexp, exact []string) {
	var all []string
	for _, p := range patterns {
		if !strings.Contains(p, "*") {
			exact = append(exact, p)
		}
		quoted := strings.ReplaceAll(regexp.QuoteMeta(p), `\*\*`, `.*`)
		all = append(all, strings.ReplaceAll(quoted, `\*`, `[^/]*`))
	}
	return regexp.MustCompile(`(?s)^(?:` + strings.Join(all, "|") + `)$`), exact
}

// refused is strict: URIs become part of citations, may name files.
func refused(uri string) string {
	at, err := url.Parse(uri)
	switch {
	case len(uri) > maxURI:
		return "its URI is too long"
	case err != nil || at.Scheme == "" || !utf8.ValidString(uri) || strings.ContainsFunc(uri, func(r rune) bool { return r <= ' ' || r == 0x7f }):
		return "its URI is invalid"
	}
	if reason := source.DenyReason(filepath.FromSlash(at.Host + at.Path + at.Opaque)); reason != "" {
		return "never read: " + reason
	}
	return ""
}

// reason says why there is no usable text.
func (f *fetch) one(ctx context.Context, session *session, r *mcp.Resource) (k storedResource, reason string, err error) {
	if f.bytes+r.Size > f.server.MaxBytes {
		return storedResource{}, f.tooLarge(), nil
	}
	answer, err := session.ReadResource(ctx, &mcp.ReadResourceParams{URI: r.URI})
	if err != nil {
		return storedResource{}, "", err
	}
	text, reason := textOf(answer)
	if reason != "" {
		return storedResource{}, reason, nil
	}
	whole, nul, err := charset.CutNULs([]byte(text))
	if err != nil {
		return storedResource{}, notText, nil
	}
	if text = string(whole); nul > 0 {
		f.leaveOut(fmt.Sprintf("%s, line %d", r.URI, nul), "NUL bytes, left out of the text", 1)
	}
	clean, findings := text, []secret.Finding(nil)
	if !f.keepSecrets {
		clean, findings = secret.Redact(text)
	}
	data := []byte(clean)
	if f.bytes+int64(len(data)) > f.server.MaxBytes {
		return storedResource{}, f.tooLarge(), nil
	}
	now := time.Now().UTC()
	k = storedResource{URI: r.URI, Hash: hashOf(data), Size: int64(len(data)), Modified: now, Changed: now}
	if old, had := f.old[r.URI]; had && old.Hash == k.Hash {
		k.Modified, k.Changed = old.Modified, old.Changed
	} else {
		for _, finding := range findings {
			if f.redacted == nil {
				f.redacted = map[string][]string{}
			}
			f.redacted[finding.Rule] = append(f.redacted[finding.Rule], paths.Citation(f.pathOf(r.URI), finding.Line, finding.Line))
		}
	}
	if r.Annotations != nil {
		if at, err := time.Parse(time.RFC3339, r.Annotations.LastModified); err == nil && at.Year() >= 1970 {
			k.Modified = at.UTC()
		}
	}
	return k, "", f.store(k, data)
}

func (f *fetch) tooLarge() string {
	return fmt.Sprintf("more than %d KB in all", f.server.MaxBytes>>10)
}

func (f *fetch) store(k storedResource, text []byte) error {
	if _, err := f.readStored(k); err == nil {
		return nil
	}
	return jsonfile.Write(filepath.Join(f.folder, k.Hash), text)
}

const notText = "not text"

// textOf returns the text, or the reason for none.
func textOf(answer *mcp.ReadResourceResult) (text, reason string) {
	var parts []string
	for _, c := range answer.Contents {
		if c == nil {
			continue
		}
		kind, _, _ := strings.Cut(c.MIMEType, ";")
		switch kind = strings.ToLower(strings.TrimSpace(kind)); {
		case len(c.Blob) > 0:
			return "", notText
		case kind != "" && kind != "application/json" && (!strings.HasPrefix(kind, "text/") || kind == "text/html" || kind == "text/css"):
			return "", fmt.Sprintf("%.60q is not read, only plain text, Markdown and JSON", kind)
		}
		parts = append(parts, strings.ToValidUTF8(c.Text, "\uFFFD"))
	}
	text = strings.Join(parts, "\n\n")
	if strings.TrimSpace(text) == "" {
		return "", "empty"
	}
	return string(bytes.TrimPrefix([]byte(text), []byte("\xef\xbb\xbf"))), ""
}
