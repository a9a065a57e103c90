// Package forgotten keeps what a person forgot, and takes it out of what is read, wherever it is
// said again.
//
// The list has no words: a salted hash for each turn of a conversation and each paragraph of a
// document, made of its normal form, so that a copy, a fork, another name or another place in the
// file does not bring it back. There is one list for all workspaces of a user; what is imported
// counts for those that come with it. The salt is random and stays with the list, so that nobody
// finds out by a table made beforehand what was forgotten; who has the list can still try out what
// they suspect.
//
// A text of less than 32 letters and digits is known only together with what stands beside it, and
// at its place in its document: see Passages. Parts of a turn or paragraph that were said elsewhere
// are not known.
package forgotten

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/memcore/memcore/internal/jsonfile"
)

// An entry is what was forgotten at once.
type entry struct {
	// In, Path and Line are where it was, for Forget to be taken back.
	In   string `json:"in,omitempty"`
	Path string `json:"path"`
	Line int    `json:"line,omitempty"`
	// Whole means that the document is forgotten by its name.
	Whole bool `json:"whole,omitempty"`
	// Texts are hashes, of 16 hex digits, between spaces.
	Texts string `json:"texts,omitempty"`
	// Salt is that of a list which was imported; "" is this list's own.
	Salt string `json:"salt,omitempty"`
	// Only are the workspaces that an imported entry counts for, between slashes; "" is all.
	Only string    `json:"only,omitempty"`
	At   time.Time `json:"at"`
}

// counts reports whether an entry hides something in a workspace.
func (e entry) counts(in string) bool {
	return e.Only == "" || slices.Contains(strings.Split(e.Only, "/"), in)
}

func (e entry) place() place { return placeOf(e.In, e.Path) }

// placeOf leaves out the workspace for a document that has the same path in all.
func placeOf(in, document string) place {
	if strings.HasPrefix(document, "~/") || path.IsAbs(document) {
		in = ""
	}
	return place{in, document}
}

func (e entry) hashes() (all []uint64, err error) {
	for text := range strings.FieldsSeq(e.Texts) {
		n, err := strconv.ParseUint(text, 16, 64)
		if err != nil || len(text) != 16 {
			return nil, fmt.Errorf("%w: %.20q is no hash", jsonfile.ErrDamaged, text)
		}
		all = append(all, n)
	}
	return all, nil
}

func (e *entry) setHashes(all []uint64) {
	texts := make([]string, len(all))
	for i, n := range all {
		texts[i] = fmt.Sprintf("%016x", n)
	}
	e.Texts = strings.Join(texts, " ")
}

// A list is the file.
type list struct {
	Salt      string  `json:"salt"` // in hex
	Changed   int64   `json:"changed"`
	Added     int64   `json:"added"`
	Forgotten []entry `json:"forgotten"`
}

const saltSize = 16

func (l *list) check() error {
	if l.Salt == "" && len(l.Forgotten) > 0 {
		return fmt.Errorf("%w: it has no salt", jsonfile.ErrDamaged)
	}
	for _, e := range append(slices.Clone(l.Forgotten), entry{Salt: l.Salt}) {
		if salt, err := hex.DecodeString(e.Salt); err != nil || e.Salt != "" && len(salt) != saltSize {
			return fmt.Errorf("%w: %.40q is no salt", jsonfile.ErrDamaged, e.Salt)
		}
		if _, err := e.hashes(); err != nil {
			return err
		}
	}
	return nil
}

// set returns the list to ask in a workspace. It was checked.
func (l *list) set(in string) *Set {
	s := &Set{Changed: l.Changed, Added: l.Added, whole: map[place]bool{}, places: map[place][]salted{}}
	for _, e := range l.Forgotten {
		if !e.counts(in) {
			continue
		}
		if e.Whole {
			s.whole[e.place()] = true
		}
		hashes, _ := e.hashes()
		if len(hashes) == 0 {
			continue
		}
		salt := l.saltOf(e)
		s.lists = withHashes(s.lists, salt, hashes)
		s.places[e.place()] = withHashes(s.places[e.place()], salt, hashes)
	}
	return s
}

func withHashes(lists []salted, salt []byte, hashes []uint64) []salted {
	at := slices.IndexFunc(lists, func(known salted) bool { return string(known.salt) == string(salt) })
	if at < 0 {
		at, lists = len(lists), append(lists, salted{salt, map[uint64]bool{}})
	}
	for _, n := range hashes {
		lists[at].hashes[n] = true
	}
	return lists
}

func (l *list) saltOf(e entry) []byte {
	salt, _ := hex.DecodeString(cmp.Or(e.Salt, l.Salt))
	return salt
}

// Load reads what a list hides in a workspace; a missing one hides nothing. Errors are those of
// jsonfile.Load.
func Load(file, in string) (*Set, error) {
	l, err := jsonfile.Load[list](file)
	if err == nil {
		err = l.check()
	}
	if err != nil {
		return nil, wrap(file, err)
	}
	return l.set(in), nil
}

func wrap(file string, err error) error {
	return fmt.Errorf("list of forgotten texts %s: %w", file, err)
}

// change changes a list under its lock. add says that something was added.
func change(ctx context.Context, file string, do func(*list) (added bool, err error)) error {
	_, err := jsonfile.Change(ctx, file, func(l *list) error {
		if err := l.check(); err != nil {
			return err
		}
		if l.Salt == "" {
			salt := make([]byte, saltSize)
			rand.Read(salt) // never fails
			l.Salt = hex.EncodeToString(salt)
		}
		added, err := do(l)
		if err != nil {
			return err
		}
		l.Changed = max(l.Changed+1, time.Now().UnixMilli())
		if added {
			l.Added = l.Changed
		}
		return nil
	})
	if err != nil {
		return wrap(file, err)
	}
	return nil
}

// A Part is what is forgotten of a document of a workspace.
type Part struct {
	In, Path string
	// Whole forgets the document by its name, with all that it will say.
	Whole bool
	// Passages are those of the document, of which Some are forgotten.
	Passages Passages
	Some     []int
}

// Add forgets parts.
func Add(ctx context.Context, file string, parts ...Part) error {
	now := time.Now().UTC().Truncate(time.Second)
	return change(ctx, file, func(l *list) (bool, error) {
		salt := l.saltOf(entry{})
		for _, p := range parts {
			e := entry{In: p.In, Path: p.Path, Whole: p.Whole, At: now}
			var hashes []uint64
			for _, n := range p.Passages.namesOf(p.Some) {
				hashes = append(hashes, n.hash(salt))
			}
			slices.Sort(hashes)
			e.setHashes(slices.Compact(hashes))
			if len(p.Some) > 0 && !p.Whole {
				e.Line = p.Passages[p.Some[0]].First
			}
			known := func(k entry) bool { k.At = now; return k == e }
			if !slices.ContainsFunc(l.Forgotten, known) {
				l.Forgotten = append(l.Forgotten, e)
			}
		}
		return true, nil
	})
}

// Remember takes back what was forgotten of a document, and what the document says now wherever
// that was forgotten. It returns how many entries of the list that changes.
func Remember(ctx context.Context, file, in, path string, says Passages) (n int, err error) {
	every := make([]int, len(says))
	for i := range says {
		every[i] = i
	}
	names := says.namesOf(every)
	err = change(ctx, file, func(l *list) (bool, error) {
		n = 0
		var left []entry
		for _, e := range l.Forgotten {
			if e.place() == placeOf(in, path) {
				n++
				continue
			}
			said := map[uint64]bool{}
			for _, name := range names {
				said[name.hash(l.saltOf(e))] = true
			}
			hashes, err := e.hashes()
			if err != nil {
				return false, err
			}
			if kept := slices.DeleteFunc(slices.Clone(hashes), func(h uint64) bool { return said[h] }); len(kept) < len(hashes) {
				n++
				if e.setHashes(kept); e.Texts == "" && !e.Whole {
					continue
				}
			}
			left = append(left, e)
		}
		l.Forgotten = left
		return false, nil
	})
	return n, err
}

// Missing returns how many texts and documents Merge would hide beside those that a list hides.
func Missing(file string, other []byte, here map[string]string) (int, error) {
	l, err := jsonfile.Load[list](file)
	if err != nil {
		return 0, wrap(file, err)
	}
	return l.merge(other, here)
}

// Merge adds what another list forgets, for some workspaces of that list. here has their names in
// this one, by those in the other.
func Merge(ctx context.Context, file string, other []byte, here map[string]string) error {
	return change(ctx, file, func(l *list) (bool, error) {
		n, err := l.merge(other, here)
		return n > 0, err
	})
}

func (l *list) merge(data []byte, here map[string]string) (added int, err error) {
	var other list
	if err := json.Unmarshal(data, &other); err != nil {
		return 0, fmt.Errorf("%w: %w", jsonfile.ErrDamaged, err)
	}
	if err := other.check(); err != nil {
		return 0, err
	}
	for _, e := range other.Forgotten {
		if e.Salt = cmp.Or(e.Salt, other.Salt); e.Salt == l.Salt {
			e.Salt = ""
		}
		var only []string
		for there, name := range here {
			if e.counts(there) {
				only = append(only, name)
			}
		}
		if len(only) == 0 {
			continue
		}
		e.In = cmp.Or(here[e.In], e.In)
		slices.Sort(only)
		everywhere := e
		everywhere.Only, e.Only = "", strings.Join(slices.Compact(only), "/")
		if slices.Contains(l.Forgotten, e) || slices.Contains(l.Forgotten, everywhere) {
			continue
		}
		l.Forgotten = append(l.Forgotten, e)
		if added += len(strings.Fields(e.Texts)); e.Whole {
			added++
		}
	}
	return added, nil
}

// Move renames a workspace.
func Move(ctx context.Context, file, from, to string) error {
	l, err := jsonfile.Load[list](file)
	if err != nil || !slices.ContainsFunc(l.Forgotten, func(e entry) bool { return e.In == from || e.Only != "" && e.counts(from) }) {
		return err
	}
	return change(ctx, file, func(l *list) (bool, error) {
		for i, e := range l.Forgotten {
			if e.In == from {
				l.Forgotten[i].In = to
			}
			if e.Only != "" && e.counts(from) {
				l.Forgotten[i].Only = strings.Trim(strings.Replace("/"+e.Only+"/", "/"+from+"/", "/"+to+"/", 1), "/")
			}
		}
		return true, nil
	})
}
