package flat

import (
	"cmp"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/store"
	"github.com/memcore/memcore/store/internal/disk"
)

func TestKeysAreOrderedAsIDs(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	ids := []string{"0", "00", "1", "a", "a0", "a00", "ab", "b", "f", strings.Repeat("0", 64), strings.Repeat("f", 64), strings.Repeat("f", 63)}
	for range 100 {
		id := make([]byte, random.IntN(64)+1)
		for i := range id {
			id[i] = digits[random.IntN(2)*random.IntN(16)]
		}
		ids = append(ids, string(id))
	}
	for _, a := range ids {
		ka := keyOf(a)
		if ka.String() != a || !ka.valid() {
			t.Errorf("keyOf(%q) = %q, valid %v, want the same", a, ka, ka.valid())
		}
		for _, b := range ids {
			kb := keyOf(b)
			if got, want := strings.Compare(string(ka[:]), string(kb[:])), cmp.Compare(a, b); got != want {
				t.Errorf("keys of %q and %q compare %d, want %d", a, b, got, want)
			}
		}
	}
}

// Reading any table gives an error or a usable snapshot.
func FuzzTable(f *testing.F) {
	k := keyOf("abc")
	row := newRowEntry(k, disk.NoDay, []byte("12345"), 0)
	f.Add([]byte(newPlaceEntry(place{"project", "markdown", "a.md"})), uint16(1))
	f.Add(append(append([]byte(newPlaceEntry(place{})), row...), newDeadEntry(0)...), uint16(1))
	f.Add([]byte(strings.Repeat("x", 3*entrySize)), uint16(3))
	f.Fuzz(func(t *testing.T, table []byte, rows uint16) {
		s := emptySnapshot(1)
		s.table = table[:len(table)/entrySize*entrySize]
		s.Entries, s.Records, s.Rows = len(s.table)/entrySize, 100, int(rows)
		s.dead = s.dead.clone(s.Rows)
		s.Live = s.Rows - strings.Count(string(table), "\x03") // often right
		if err := s.readEntries(0); err != nil {
			return
		}
		for row := range s.Rows {
			e := s.row(row)
			_ = s.places[s.place[row]]
			_ = s.dead.has(row)
			if e.offset() < 0 || e.offset()+int64(e.length()) > 100 {
				t.Errorf("record of row %d is at %d and has %d bytes, beyond 100", row, e.offset(), e.length())
			}
		}
	})
}

func TestTablesThatContradictThemselves(t *testing.T) {
	k := keyOf("abc")
	a, row, dead := newPlaceEntry(place{"s", "k", "a.md"}), newRowEntry(k, disk.NoDay, []byte("12345"), 0), newDeadEntry(0)
	far := newRowEntry(k, disk.NoDay, []byte("12345"), 0)
	far.setOffset(96)
	behind := newRowEntry(k, disk.NoDay, nil, 0)
	behind.setOffset(-1)
	strange := newRowEntry(k, disk.NoDay, nil, 0)
	strange[0] = 9
	long := newPlaceEntry(place{path: "x"})
	long.setLength(1 << 30)
	bent := newPlaceEntry(place{path: "x"})
	bent.setLength(2)
	for name, tt := range map[string]struct {
		entries []entry
		rows    int
		live    int
		good    bool
	}{
		"empty":                           {nil, 0, 0, true},
		"a row":                           {[]entry{a, row}, 1, 1, true},
		"a row that died":                 {[]entry{a, row, dead}, 1, 0, true},
		"more rows than in the manifest":  {[]entry{a, row, row}, 1, 1, false},
		"fewer rows than in the manifest": {[]entry{a, row}, 2, 2, false},
		"more live than in the manifest":  {[]entry{a, row}, 1, 0, false},
		"a row without place":             {[]entry{row}, 1, 1, false},
		"deleted before it exists":        {[]entry{a, dead, row}, 1, 0, false},
		"dead twice":                      {[]entry{a, row, dead, dead}, 1, 0, false},
		"record behind the end":           {[]entry{a, far}, 1, 1, false},
		"record before the start":         {[]entry{a, behind}, 1, 1, false},
		"an unknown kind":                 {[]entry{strange}, 0, 0, false},
		"a name behind the end":           {[]entry{long}, 0, 0, false},
		"a name that is not a name":       {[]entry{bent}, 0, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := emptySnapshot(1)
			for _, e := range tt.entries {
				s.table = append(s.table, e...)
			}
			s.Entries, s.Rows, s.Live, s.Records = len(s.table)/entrySize, tt.rows, tt.live, 100
			s.dead = s.dead.clone(tt.rows)
			err := s.readEntries(0)
			if tt.good != (err == nil) {
				t.Errorf("readEntries: error %v, want one: %v", err, !tt.good)
			}
			if !tt.good {
				require.ErrorIs(t, err, store.ErrCorrupt)
			}
		})
	}
}

func TestRowsInManyChunks(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	const size, per = 64, 1024 // chunks of mapUnit
	content := make([]byte, 5*per*size)
	for i := range content {
		content[i] = byte(i / size)
	}
	require.NoError(t, os.WriteFile(path, content, 0o600))
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	var all []rows
	for _, n := range []int{0, 1, per - 1, per, per + 1, 3 * per, 5*per - 1, 5 * per} {
		r := rows{size: size, per: per}
		if len(all) > 0 {
			r = all[len(all)-1]
		}
		grown, err := r.grown(f, n)
		require.NoError(t, err)
		require.Len(t, grown.chunks, (n+per-1)/per)
		for row := range n {
			if got := grown.between(row, row+1); len(got) != size || got[0] != byte(row) || got[size-1] != byte(row) {
				t.Fatalf("row %d of %d = %v", row, n, got)
			}
		}
		all = append(all, grown)
	}
	for _, r := range all {
		require.NoError(t, r.leave())
	}
	for _, r := range all {
		for _, c := range r.chunks {
			require.Zero(t, c.users)
		}
	}
}

func TestChunksBeginWhereMappingsCan(t *testing.T) {
	for size := 1; size < 20_000; size += 7 {
		r := newRows(size)
		if bytes := r.per * r.size; bytes%mapUnit != 0 || bytes <= 0 || bytes > max(chunkSize, mapUnit*size) {
			t.Errorf("a chunk of rows of %d bytes has %d bytes", size, bytes)
		}
	}
}

// A code never rules out a row that could be among the best.
func TestCodesBoundCosines(t *testing.T) {
	g := newGenerated(1)
	for _, dimension := range []int{1, 2, 7, small, 384, 4096} {
		for i := range 200 {
			vec, query := g.vector(dimension), g.vector(dimension)
			if i%5 == 0 {
				query = vec
			}
			gap := 0.03
			if i%7 == 0 { // one large number, the others near the steps of the code
				vec = make([]float32, dimension)
				vec[i%dimension] = 1
				for j := range vec {
					vec[j] += float32(g.random.IntN(3)) / 254
				}
				vec = scaled(vec)
				gap = 0.2
			}
			c := NewCode(vec)
			require.Len(t, c, codeSize(dimension))
			var limit [1]float32
			codes{dimension, c}.limits(query, limit[:])
			exact := 0.0
			for j := range vec {
				exact += float64(vec[j]) * float64(query[j])
			}
			if float64(limit[0]) < exact || float64(limit[0]) > exact+gap {
				t.Errorf("limit of a cosine in %d dimensions = %v, want a little more than %v", dimension, limit[0], exact)
			}
		}
	}
}
