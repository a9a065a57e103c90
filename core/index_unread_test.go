package core_test

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core/source"
)

// A spoilt source changes what another one lists and reads, while its functions are set.
type spoilt struct {
	source.Source
	list func(source.Listing) (source.Listing, error)
	read func(doc source.Document) error // before it is read
}

func (s *spoilt) List(ctx context.Context) (source.Listing, error) {
	listing, err := s.Source.List(ctx)
	if s.list != nil && err == nil {
		return s.list(listing)
	}
	return listing, err
}

func (s *spoilt) Read(ctx context.Context, doc source.Document, from source.Position) (source.Content, error) {
	if s.read != nil {
		if err := s.read(doc); err != nil {
			return source.Content{}, fmt.Errorf("read %s: %w", doc.Path, err)
		}
	}
	return s.Source.Read(ctx, doc, from)
}

// A partFault spoils a part of the memory: notes/bad/otter.md, its folder or its source.
type partFault struct {
	spoil func(t *testing.T, mem *memory, s *spoilt)
	// mend undoes it, if that is more than resetting the functions of s.
	mend func(t *testing.T, mem *memory)
	// lost is what is named, and why. Nothing is named of what is no more.
	lost, reason string
	// settles means that it happens while the source is read: the next run sees what became of it.
	settles bool
	// stays means that what the index had of it is still found.
	stays bool
}

// onlyFor is an error of reading one document.
func onlyFor(path string, err error) func(source.Document) error {
	return func(doc source.Document) error {
		if doc.Path == path {
			return err
		}
		return nil
	}
}

const otter = "# Otter\n\nThe otter sleeps in the reeds.\n"

var partFaults = map[string]partFault{
	"a file that may not be read": {
		spoil: func(_ *testing.T, mem *memory, s *spoilt) {
			mem.write("bad/otter.md", otter+"\nAnd more.\n")
			s.read = onlyFor("notes/bad/otter.md", &fs.PathError{Op: "open", Path: "otter.md", Err: fs.ErrPermission})
		},
		lost: "notes/bad/otter.md", reason: "permission denied", stays: true,
	},
	"a file on a disk that fails": {
		spoil: func(_ *testing.T, mem *memory, s *spoilt) {
			mem.write("bad/otter.md", otter+"\nAnd more.\n")
			s.read = onlyFor("notes/bad/otter.md", errDisk)
		},
		lost: "notes/bad/otter.md", reason: errDisk.Error(), stays: true,
	},
	"a file with which a reader panics": {
		spoil: func(_ *testing.T, mem *memory, s *spoilt) {
			mem.write("bad/otter.md", otter+"\nAnd more.\n")
			s.read = func(doc source.Document) error {
				if doc.Path == "notes/bad/otter.md" {
					panic("index out of range")
				}
				return nil
			}
		},
		lost: "notes/bad/otter.md", reason: "please report this: index out of range", stays: true,
	},
	"a file that is no text": {
		spoil: func(_ *testing.T, mem *memory, _ *spoilt) { mem.write("bad/otter.md", otter+"\x00\x01\x02\x03\x04") },
		mend:  func(_ *testing.T, mem *memory) { mem.write("bad/otter.md", otter+"\n") },
		lost:  "notes/bad/otter.md", reason: "not text", stays: true,
	},
	"a file that is removed before it is read": {
		spoil: func(t *testing.T, mem *memory, s *spoilt) {
			mem.write("bad/otter.md", otter+"\nAnd more.\n")
			s.read = func(doc source.Document) error {
				if doc.Path == "notes/bad/otter.md" {
					require.NoError(t, os.Remove(doc.File))
				}
				return nil
			}
		},
		mend:    func(_ *testing.T, mem *memory) { mem.write("bad/otter.md", otter+"\nAnd more.\n") },
		settles: true,
	},
	"a file in whose place is a folder": {
		spoil: func(t *testing.T, mem *memory, s *spoilt) {
			mem.write("bad/otter.md", otter+"\nAnd more.\n")
			s.read = func(doc source.Document) error {
				if doc.Path == "notes/bad/otter.md" {
					require.NoError(t, os.Remove(doc.File))
					require.NoError(t, os.Mkdir(doc.File, 0o755))
				}
				return nil
			}
		},
		mend: func(t *testing.T, mem *memory) {
			require.NoError(t, os.Remove(filepath.Join(mem.notes, "bad", "otter.md")))
			mem.write("bad/otter.md", otter+"\nAnd more.\n")
		},
		settles: true,
	},
	"a folder that cannot be listed": {
		spoil: func(_ *testing.T, _ *memory, s *spoilt) {
			s.list = func(all source.Listing) (source.Listing, error) {
				kept := all.Documents[:0]
				for _, doc := range all.Documents {
					if !strings.HasPrefix(doc.Path, "notes/bad/") {
						kept = append(kept, doc)
					}
				}
				all.Documents = kept
				all.Skipped = append(all.Skipped, source.Skip{Path: "notes/bad", Reason: "folder cannot be read: permission denied", Unreadable: true})
				return all, nil
			}
		},
		lost: "notes/bad", reason: "permission denied", stays: true,
	},
	"a source that cannot be listed": {
		spoil: func(_ *testing.T, _ *memory, s *spoilt) {
			s.list = func(source.Listing) (source.Listing, error) { return source.Listing{}, errDisk }
		},
		lost: "notes/bad", reason: errDisk.Error(), stays: true,
	},
}

// Of several sources, folders and files, a fault costs only its own part, which is named, and keeps
// what was known of it; queries do not try it again, and the next run of indexing does.
func TestAFaultCostsOnlyItsPart(t *testing.T) {
	for name, fault := range partFaults {
		for _, before := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, indexed before %v", name, before), func(t *testing.T) {
				mem := newMemory(t)
				dir := filepath.Dir(mem.notes)
				mem.write("bad/otter.md", otter)
				inner := source.NewFolder(source.FolderOptions{Path: mem.notes, Workspace: dir, Exclude: []string{"/late"}})
				if name == "a source that cannot be listed" {
					inner = source.NewFolder(source.FolderOptions{Path: filepath.Join(mem.notes, "bad"), Workspace: dir})
				}
				s := &spoilt{Source: inner}
				mem.options.Sources = []source.Source{s, source.NewFolder(source.FolderOptions{Path: mem.notes, Workspace: dir, Exclude: []string{"/bad"}})}
				m := mem.open()
				if before {
					index(t, m)
				}
				fault.spoil(t, mem, s)
				mem.write("late/newt.md", "# Newt\n\nThe newt hides below a stone.\n")
				if fault.settles {
					index(t, m)
				}
				for range 2 { // a second time nothing is different
					report := index(t, m)
					lost := append([]string{}, report.Warnings...)
					for _, skip := range report.Skipped {
						lost = append(lost, skip.Path+": "+skip.Reason)
					}
					status, err := m.Status(t.Context())
					require.NoError(t, err)
					named := append([]string{}, status.Problems...)
					for _, skip := range status.Unread {
						named = append(named, skip.Path+": "+skip.Reason)
					}
					require.Equal(t, lost, named)
					require.Nil(t, status.Stale, "what cannot be read has not changed")
					if fault.lost == "" {
						require.Empty(t, lost)
					} else {
						require.Len(t, lost, 1)
						require.True(t, strings.HasPrefix(lost[0], fault.lost+":"), lost[0])
						require.Contains(t, lost[0], fault.reason)
					}
					require.Equal(t, "notes/late/newt.md#L1-L3", first(search(t, m, "where does the newt hide")))
					require.Equal(t, "notes/team.md#L1-L3", first(search(t, m, "who is on call")))
					require.Equal(t, before && fault.stays, found(t, m, "where does the otter sleep", "reeds"))
					require.NoError(t, m.Check(t.Context()))
				}
				s.list, s.read = nil, nil
				if fault.mend != nil {
					fault.mend(t, mem)
				}
				report := index(t, m)
				require.Empty(t, report.Warnings)
				require.Empty(t, report.Skipped)
				require.True(t, found(t, m, "where does the otter sleep", "reeds"))
				status, err := m.Status(t.Context())
				require.NoError(t, err)
				require.Empty(t, status.Unread)
				require.Nil(t, status.Stale)
			})
		}
	}
}

// Queries do not read again and again what cannot be read, until it looks otherwise.
func TestQueriesLeaveTheUnreadableAlone(t *testing.T) {
	mem := newMemory(t)
	reads := 0
	s := &spoilt{Source: mem.options.Sources[0]}
	s.read = func(doc source.Document) error {
		if doc.Path == "notes/team.md" {
			reads++
			return errDisk
		}
		return nil
	}
	mem.options.Sources = []source.Source{s}
	mem.options.Freshness = time.Minute
	m := mem.open()
	index(t, m)
	require.Equal(t, 1, reads)
	for range 3 {
		result := search(t, m, "staging postgres port")
		require.Nil(t, result.Stale)
	}
	require.Equal(t, 1, reads)
	mem.write("team.md", "# Team\n\nGrace is on call.\n")
	search(t, m, "staging postgres port")
	require.Equal(t, 2, reads)
	search(t, m, "staging postgres port")
	require.Equal(t, 2, reads)
	index(t, m)
	require.Equal(t, 3, reads, "a run of indexing tries it in any case")
	s.read = nil
	index(t, m)
	require.Equal(t, "notes/team.md#L1-L3", first(search(t, m, "grace is on call")))
	require.NoError(t, m.Check(t.Context()))
}
