package core

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/memcore/memcore/core/digest"
	"github.com/memcore/memcore/core/source"
	"github.com/memcore/memcore/internal/safefile"
	"github.com/memcore/memcore/store"
)

// KindStatement is the kind of a record or hit that is a sentence a user stated in an agent's log.
// Only a search for this kind finds it.
const KindStatement = store.KindStatement

// A generation has the digests of its logs as JSON: one file a log in digestFolder, and saidFile
// with what stands of all. They are written before the manifest. After a crash they may be newer,
// and the next run replaces them.
const (
	digestFolder = "digests"
	saidFile     = "said.json"
)

// Said is what the user of a log said for all later work, or took back, and which commands failed
// there.
type Said struct {
	Standing []digest.Statement `json:"standing,omitempty"`
	Failures []digest.Failure   `json:"failures,omitempty"`
}

// said is what all logs say.
type said struct {
	Documents map[string]Said `json:"documents"` // by path
	changed   bool            // it is not in saidFile
}

func digestFile(path string) string {
	sum := sha256.Sum256([]byte(path))
	return filepath.Join(digestFolder, hex.EncodeToString(sum[:16])+".json")
}

func readDigest(folder, path string) (d digest.Digest, err error) {
	text, err := os.ReadFile(filepath.Join(folder, digestFile(path)))
	if err == nil {
		err = json.Unmarshal(text, &d)
	}
	if err != nil {
		return digest.Digest{}, fmt.Errorf("read digest of %s: %w", path, err)
	}
	return d, nil
}

// withoutLostDigests returns a manifest by which logs are read again whose digest is gone, or is
// not the one that was written. Nothing else would make it again before the log changes.
func (m *manifest) withoutLostDigests(folder string) *manifest {
	var lost []string
	for path, e := range m.Documents {
		if e.Digest == "" {
			continue
		}
		if text, err := os.ReadFile(filepath.Join(folder, digestFile(path))); err != nil || hashOf(text) != e.Digest {
			lost = append(lost, path)
		}
	}
	if len(lost) == 0 {
		return m
	}
	changed := *m // readers keep theirs
	changed.Documents = maps.Clone(m.Documents)
	for _, path := range lost {
		e := changed.Documents[path]
		e.Unsure, e.Digest, e.Resume = true, "", source.Position{}
		changed.Documents[path] = e
	}
	return &changed
}

func saidOf(d digest.Digest) Said {
	var s Said
	for _, one := range d.Statements {
		if one.Standing || one.Withdraws {
			s.Standing = append(s.Standing, one)
		}
	}
	s.Failures = d.Failures
	return s
}

func hashOf(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// digested fills in the digest of an agent's log and returns the records of its statements. earlier
// is the digest of what precedes the content.
func (c *cutting) digested(content source.Content, earlier digest.Digest) ([]store.Record, error) {
	if !content.Agent || c.forgotten {
		return nil, nil
	}
	d := digest.Of(content.Turns, earlier, c.redactQuietly)
	text, err := json.Marshal(d)
	if err != nil {
		return nil, &indexFailure{fmt.Errorf("encode digest of %s: %w", c.doc.Path, err)}
	}
	c.digest, c.digestText, c.entry.Digest = &d, text, hashOf(text)
	return c.statementsOf(d), nil
}

// statementsOf returns a record for each statement of a log.
func (c *cutting) statementsOf(d digest.Digest) []store.Record {
	doc, records := c.doc, make([]store.Record, len(d.Statements))
	for i, one := range d.Statements {
		record := store.Record{
			Scope: doc.Scope, Kind: KindStatement, Path: doc.Path, StartLine: one.Line, EndLine: one.Line,
			Session: one.Session, Speaker: "user", Time: one.Time, Text: one.Text, Tokens: (len(one.Text) + bytesPerToken - 1) / bytesPerToken,
		}
		if count := c.chunking.Count; count != nil {
			record.Tokens = count(one.Text)
		}
		record.Hash = fullHash(EmbeddingText(record))
		record.ID = fullHash(fmt.Sprintf("statement\x00%s\x00%d\x00%s", doc.Path, one.Line, one.Text))[:32]
		records[i] = record
	}
	return records
}

func fullHash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// saveDigests writes what the readings change.
func (w *writer) saveDigests(batch []reading) error {
	var changed []reading
	for _, r := range batch {
		known := w.manifest.Documents[r.doc.Path]
		if r.digest == nil {
			if err := w.removeDigest(r.doc.Path); err != nil {
				return err
			}
			continue
		}
		if known.Digest != r.entry.Digest || r.digestLost {
			changed = append(changed, r)
		}
	}
	err := each(changed, func(r *reading) error {
		if err := safefile.Replace(w.folder, digestFile(r.doc.Path), r.digestText, 0o600); err != nil {
			return fmt.Errorf("write digest of %s: %w", r.doc.Path, err)
		}
		return nil
	})
	for _, r := range changed {
		if err == nil {
			err = w.say(r.doc.Path, saidOf(*r.digest))
		}
	}
	if err != nil {
		return err
	}
	return w.saveSaid()
}

// filesAtOnce is how many files are written at once: each waits for the disk, which makes several
// durable in the time of one.
const filesAtOnce = 8

// each calls do for all readings, several at once, and waits for them.
func each(batch []reading, do func(*reading) error) error {
	var all errgroup.Group
	all.SetLimit(filesAtOnce)
	for i := range batch {
		all.Go(func() error { return do(&batch[i]) })
	}
	return all.Wait()
}

// forgetDigests removes those of documents that are gone.
func (w *writer) forgetDigests(paths []string) error {
	for _, path := range paths {
		if err := w.removeDigest(path); err != nil {
			return err
		}
	}
	return w.saveSaid()
}

func (w *writer) removeDigest(path string) error {
	if w.manifest.Documents[path].Digest == "" {
		return nil
	}
	if err := w.say(path, Said{}); err != nil {
		return err
	}
	if err := os.Remove(filepath.Join(w.folder, digestFile(path))); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove digest of %s: %w", path, err)
	}
	return nil
}

// say changes what one log says.
func (w *writer) say(path string, now Said) error {
	nothing := len(now.Standing)+len(now.Failures) == 0
	if w.said == nil {
		if nothing && w.manifest.Said == "" {
			return nil
		}
		all, err := readSaid(w.folder, w.manifest)
		if err != nil {
			return err
		}
		w.said = all
	}
	before, known := w.said.Documents[path]
	switch {
	case nothing && known:
		delete(w.said.Documents, path)
		w.said.changed = true
	case !nothing && !equalSaid(before, now):
		w.said.Documents[path] = now
		w.said.changed = true
	}
	return nil
}

func equalSaid(a, b Said) bool {
	one, err := json.Marshal(a)
	other, err2 := json.Marshal(b)
	return err == nil && err2 == nil && string(one) == string(other)
}

func (w *writer) saveSaid() error {
	if w.said == nil || !w.said.changed {
		return nil
	}
	text, err := json.Marshal(w.said)
	if err == nil {
		err = safefile.Replace(w.folder, saidFile, text, 0o600)
	}
	if err != nil {
		return fmt.Errorf("write what is said in logs: %w", err)
	}
	w.said.changed, w.manifest.Said = false, hashOf(text)
	return nil
}

// readSaid reads saidFile. If that is not the one that the manifest names, as after a crash, it
// reads the digest of each log instead; one that cannot be read is read again with its log.
func readSaid(folder string, known *manifest) (*said, error) {
	all := &said{}
	text, err := os.ReadFile(filepath.Join(folder, saidFile))
	if err == nil && hashOf(text) == known.Said && json.Unmarshal(text, all) == nil && all.Documents != nil {
		return all, nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read what is said in logs: %w", err)
	}
	all = &said{Documents: map[string]Said{}}
	for path, e := range known.Documents {
		if e.Digest == "" {
			continue
		}
		if d, err := readDigest(folder, path); err == nil {
			if one := saidOf(d); len(one.Standing)+len(one.Failures) > 0 {
				all.Documents[path] = one
			}
		}
	}
	all.changed = len(all.Documents) > 0 || known.Said != ""
	return all, nil
}

// maxDigests bounds the logs whose exchanges are kept in memory.
const maxDigests = 256

// A digestCache keeps digests that were read, for all views of a generation, or all contents.
type digestCache struct {
	mu    sync.Mutex
	files map[digestName]digest.Digest
	all   map[string]Said
	hash  string // of all
}

// A digestName has the hash as the manifest has it.
type digestName struct{ path, hash string }

// said returns what the logs of a view say. The caller must not change it.
func (c *digestCache) said(v *view) (map[string]Said, error) {
	if v.manifest.Said == "" {
		return nil, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.hash == v.manifest.Said {
		return c.all, nil
	}
	all, err := readSaid(v.folder, v.manifest)
	if err != nil {
		return nil, err
	}
	maps.DeleteFunc(all.Documents, func(path string, _ Said) bool { return v.manifest.of(path).Digest == "" })
	c.all, c.hash = all.Documents, v.manifest.Said
	return c.all, nil
}

// of returns the digest of a log; the zero one for other documents. The caller must not change it.
func (c *digestCache) of(ctx context.Context, v *view, path string) (digest.Digest, error) {
	name := digestName{path, v.manifest.of(path).Digest}
	if name.hash == "" {
		return digest.Digest{}, nil
	}
	c.mu.Lock()
	d, known := c.files[name]
	c.mu.Unlock()
	if known {
		return d, nil
	}
	if v.readDigests != nil {
		all, err := v.fetchDigests(ctx, []string{path})
		return all[path], err
	}
	d, err := readDigest(v.folder, path)
	if err == nil {
		c.keep(name, d)
	}
	return d, err
}

func (c *digestCache) keep(name digestName, d digest.Digest) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.files == nil || len(c.files) >= maxDigests {
		c.files = map[digestName]digest.Digest{}
	}
	c.files[name] = d
}

// lacks reports whether a digest is not in memory.
func (c *digestCache) lacks(name digestName) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, known := c.files[name]
	return name.hash != "" && !known
}

// fetchDigests reads the digests of Contents that are not in memory, all at once. Beside an error
// are those that can be read.
func (v *view) fetchDigests(ctx context.Context, paths []string) (map[string]digest.Digest, error) {
	var wanted []string
	for _, path := range paths {
		if v.digests.lacks(digestName{path, v.manifest.of(path).Digest}) && !slices.Contains(wanted, path) {
			wanted = append(wanted, path)
		}
	}
	if v.readDigests == nil || len(wanted) == 0 {
		return nil, nil
	}
	texts, err := v.readDigests(ctx, wanted)
	if err != nil {
		return nil, fmt.Errorf("read digests: %w", err)
	}
	all := map[string]digest.Digest{}
	for path, text := range texts {
		var d digest.Digest
		if failed := json.Unmarshal(text, &d); failed != nil {
			err = errors.Join(err, fmt.Errorf("read digest of %s: %w", path, failed))
			continue
		}
		all[path] = d
		v.digests.keep(digestName{path, v.manifest.of(path).Digest}, d)
	}
	return all, err
}

// Exchanges returns the exchanges of an agent's log in order; none for other documents. Errors wrap
// ErrNotIndexed.
func (m *Manager) Exchanges(ctx context.Context, path string) ([]digest.Exchange, error) {
	d, err := m.digestOf(ctx, path)
	return slices.Clone(d.Exchanges), err
}

func (m *indexer) digestOf(ctx context.Context, path string) (digest.Digest, error) {
	current, err := m.acquire(ctx)
	if stateOf(err) == StateMissing {
		return digest.Digest{}, fmt.Errorf("%s: %w", path, ErrNotIndexed)
	}
	if err != nil {
		return digest.Digest{}, fmt.Errorf("open index %s: %w", m.options.Folder, err)
	}
	defer current.release()
	if _, known := current.manifest.find(path); !known {
		return digest.Digest{}, fmt.Errorf("%s: %w", path, ErrNotIndexed)
	}
	return current.digests.of(ctx, current.view, path)
}

// Said returns, by path, what users said in logs for all later work, and which commands failed
// there.
func (m *Manager) Said(ctx context.Context) (map[string]Said, error) {
	all, _, err := m.saidIn(ctx)
	return all, err
}

// saidIn is Said with the manifest of those documents; nil without an index.
func (m *indexer) saidIn(ctx context.Context) (map[string]Said, *manifest, error) {
	current, err := m.acquire(ctx)
	if stateOf(err) == StateMissing {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("open index %s: %w", m.options.Folder, err)
	}
	defer current.release()
	all, err := current.said()
	return m.ofUser(all, current.manifest), current.manifest, err
}

// ofUser returns what is said in logs whose user is this one.
func (m *indexer) ofUser(all map[string]Said, known *manifest) map[string]Said {
	all = maps.Clone(all)
	maps.DeleteFunc(all, func(document string, _ Said) bool { return !m.isUsers(document) })
	for _, document := range m.unheard(known) {
		delete(all, document)
	}
	return all
}

func (m *indexer) isUsers(document string) bool {
	return m.options.IsUsers == nil || m.options.IsUsers(document)
}
