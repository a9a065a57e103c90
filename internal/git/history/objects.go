package history

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"github.com/memcore/memcore/internal/safefile"
)

// Limits of what a repository can make a reader hold.
const (
	maxObject = 16 << 20 // bytes of a commit or a tree
	maxCached = 32 << 20 // bytes of objects
	maxDeltas = 4096     // that lead to an object; git makes 4095 at most
	maxPacks  = 100      // that are open at once, as two files each
)

// Kinds of objects, as packs number them (gitformat-pack(5)).
const (
	kindCommit  = 1
	kindTree    = 2
	offsetDelta = 6
	refDelta    = 7
)

// kinds are by their names in loose objects.
var kinds = map[string]int{"commit": kindCommit, "tree": kindTree}

var errDamaged = errors.New("it is damaged, or of a newer git")

// objects reads commits and trees of a repository. It is not safe for concurrent use.
type objects struct {
	dir      string // the folder "objects"
	hash     int    // length of an ID in bytes
	packs    []*pack
	cache    map[string]object // by ID, or by place in a pack
	cached   int               // bytes
	inflater io.ReadCloser
}

// An object is what an ID, the bytes of a hash, names.
type object struct {
	kind int
	data []byte
}

func openObjects(dir string, hash int) (*objects, error) {
	o := &objects{dir: dir, hash: hash, cache: map[string]object{}}
	entries, err := os.ReadDir(filepath.Join(dir, "pack"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, entry := range entries {
		name, ok := strings.CutSuffix(entry.Name(), ".idx")
		if !ok || len(o.packs) == maxPacks {
			continue
		}
		p, err := openPack(dir, "pack/"+name, hash)
		if errors.Is(err, fs.ErrNotExist) {
			continue // git has just packed again
		}
		if err != nil {
			o.close()
			return nil, fmt.Errorf("pack %s: %w", name, err)
		}
		o.packs = append(o.packs, p)
	}
	return o, nil
}

func (o *objects) close() {
	for _, p := range o.packs {
		p.close()
	}
}

// read returns an object that the caller must not change. An unknown ID is fs.ErrNotExist.
func (o *objects) read(ctx context.Context, id string, kind int) ([]byte, error) {
	found, err := o.find(ctx, id, 0)
	if err == nil && found.kind != kind {
		err = errDamaged
	}
	if err != nil {
		return nil, fmt.Errorf("object %x: %w", id, err)
	}
	return found.data, nil
}

func (o *objects) find(ctx context.Context, id string, deltas int) (object, error) {
	if known, ok := o.cache[id]; ok {
		return known, nil
	}
	for i, p := range o.packs {
		offset, ok, err := p.offset(id)
		if err != nil {
			return object{}, err
		}
		if ok {
			o.packs[0], o.packs[i] = p, o.packs[0] // the next one is likely there, too
			return o.packed(ctx, p, offset, deltas)
		}
	}
	found, err := o.loose(id)
	if err == nil {
		o.keep(id, found)
	}
	return found, err
}

func (o *objects) keep(key string, found object) {
	if o.cached += len(found.data); o.cached > maxCached {
		clear(o.cache)
		o.cached = len(found.data)
	}
	o.cache[key] = found
}

func (o *objects) loose(id string) (object, error) {
	name := hex.EncodeToString([]byte(id))
	file, _, err := safefile.Open(o.dir, name[:2]+"/"+name[2:])
	if err != nil {
		return object{}, err
	}
	defer file.Close()
	data, err := o.inflate(file, maxObject)
	if err != nil {
		return object{}, err
	}
	head, data, _ := bytes.Cut(data, []byte{0})
	kind, _, _ := strings.Cut(string(head), " ")
	return object{kinds[kind], data}, nil
}

// inflate fails if there are more bytes than most.
func (o *objects) inflate(from io.Reader, most int64) ([]byte, error) {
	var err error
	if o.inflater == nil {
		o.inflater, err = zlib.NewReader(from)
	} else {
		err = o.inflater.(zlib.Resetter).Reset(from, nil)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errDamaged, err)
	}
	data := bytes.NewBuffer(make([]byte, 0, min(most, 16<<10)+bytes.MinRead))
	if _, err := data.ReadFrom(io.LimitReader(o.inflater, most+1)); err != nil {
		return nil, fmt.Errorf("%w: %w", errDamaged, err)
	}
	if int64(data.Len()) > most {
		return nil, fmt.Errorf("it is larger than %d bytes", most)
	}
	return data.Bytes(), nil
}

// packed reads the object at an offset of a pack, which may be a delta to another one.
func (o *objects) packed(ctx context.Context, p *pack, offset int64, deltas int) (object, error) {
	key := fmt.Sprint(p.name, " ", offset)
	if known, ok := o.cache[key]; ok {
		return known, nil
	}
	if err := ctx.Err(); err != nil {
		return object{}, err
	}
	if deltas > maxDeltas || offset < 0 || offset >= p.size {
		return object{}, errDamaged
	}
	in := bufio.NewReaderSize(io.NewSectionReader(p.data, offset, p.size-offset), 1<<10)
	first, err := in.ReadByte()
	if err != nil {
		return object{}, err
	}
	kind, size, shift := int(first>>4&7), int64(first&15), 4
	for more := first&0x80 != 0; more; shift += 7 {
		b, err := in.ReadByte()
		if err != nil || shift > 32 {
			return object{}, errDamaged
		}
		size, more = size|int64(b&0x7f)<<shift, b&0x80 != 0
	}
	if size > maxObject {
		return object{}, fmt.Errorf("it is larger than %d bytes", maxObject)
	}
	var base object
	switch kind {
	case offsetDelta:
		back, ok := backwards(in)
		if !ok || back <= 0 || back > offset {
			return object{}, errDamaged
		}
		base, err = o.packed(ctx, p, offset-back, deltas+1)
	case refDelta:
		id := make([]byte, o.hash)
		if _, err := io.ReadFull(in, id); err != nil {
			return object{}, err
		}
		base, err = o.find(ctx, string(id), deltas+1)
	}
	if err == nil {
		err = ctx.Err() // which may have ended while the bases of a long chain were made
	}
	if err != nil {
		return object{}, err
	}
	data, err := o.inflate(in, size)
	if err == nil && (kind == offsetDelta || kind == refDelta) {
		kind = base.kind
		data, err = patched(base.data, data)
	}
	if err != nil {
		return object{}, err
	}
	found := object{kind, data}
	o.keep(key, found)
	return found, nil
}

// backwards reads how far before a delta its base is.
func backwards(in io.ByteReader) (n int64, ok bool) {
	for i := range 9 {
		b, err := in.ReadByte()
		if err != nil {
			return 0, false
		}
		if i > 0 {
			n++
		}
		n = n<<7 | int64(b&0x7f)
		if b&0x80 == 0 {
			return n, true
		}
	}
	return 0, false
}

// patched applies a delta.
func patched(base, delta []byte) ([]byte, error) {
	from, n := binary.Uvarint(delta)
	if n <= 0 || from != uint64(len(base)) {
		return nil, errDamaged
	}
	delta = delta[n:]
	size, n := binary.Uvarint(delta)
	if n <= 0 || size > maxObject {
		return nil, errDamaged
	}
	delta = delta[n:]
	data := make([]byte, 0, size)
	for len(delta) > 0 {
		code := delta[0]
		delta = delta[1:]
		if code&0x80 == 0 { // bytes of its own
			if code == 0 || int(code) > len(delta) {
				return nil, errDamaged
			}
			data, delta = append(data, delta[:code]...), delta[code:]
			continue
		}
		var number [7]uint32 // four bytes of an offset, three of a size
		for i := range number {
			if code&(1<<i) == 0 {
				continue
			}
			if len(delta) == 0 {
				return nil, errDamaged
			}
			number[i], delta = uint32(delta[0]), delta[1:]
		}
		at := uint64(number[0] | number[1]<<8 | number[2]<<16 | number[3]<<24)
		length := uint64(number[4] | number[5]<<8 | number[6]<<16)
		if length == 0 {
			length = 1 << 16
		}
		if at+length > uint64(len(base)) || uint64(len(data))+length > size {
			return nil, errDamaged
		}
		data = append(data, base[at:at+length]...)
	}
	if uint64(len(data)) != size {
		return nil, errDamaged
	}
	return data, nil
}

// A pack is a file of objects with its index of version 2.
type pack struct {
	name        string
	index, data *os.File
	size        int64
	fanout      [256]uint32
	hash        int
}

// openPack opens a pack by its name without extension.
func openPack(dir, name string, hash int) (p *pack, err error) {
	p = &pack{name: name, hash: hash}
	defer func() {
		if err != nil {
			p.close()
		}
	}()
	if p.index, _, err = safefile.Open(dir, name+".idx"); err != nil {
		return nil, err
	}
	data, info, err := safefile.Open(dir, name+".pack")
	if err != nil {
		return nil, err
	}
	p.data, p.size = data, info.Size()
	head := make([]byte, 8+4*256)
	if _, err := p.index.ReadAt(head, 0); err != nil || !bytes.HasPrefix(head, []byte("\xfftOc\x00\x00\x00\x02")) {
		return nil, errDamaged
	}
	for i := range p.fanout {
		p.fanout[i] = binary.BigEndian.Uint32(head[8+4*i:])
		if i > 0 && p.fanout[i] < p.fanout[i-1] {
			return nil, errDamaged
		}
	}
	return p, nil
}

func (p *pack) close() {
	for _, file := range []*os.File{p.index, p.data} {
		if file != nil {
			file.Close()
		}
	}
}

// offset returns where in the pack an object is.
func (p *pack) offset(id string) (offset int64, ok bool, err error) {
	const names, far = 8 + 4*256, 1 << 31
	read := func(b []byte, at int64) {
		if _, e := p.index.ReadAt(b, at); e != nil && err == nil {
			err = e
		}
	}
	first, end := 0, int(p.fanout[id[0]])
	if id[0] > 0 {
		first = int(p.fanout[id[0]-1])
	}
	name := make([]byte, p.hash)
	at := first + sort.Search(end-first, func(i int) bool {
		read(name, names+int64(first+i)*int64(p.hash))
		return string(name) >= id
	})
	if at == end || err != nil {
		return 0, false, err
	}
	if read(name, names+int64(at)*int64(p.hash)); string(name) != id || err != nil {
		return 0, false, err
	}
	count := int64(p.fanout[255])
	offsets := names + count*int64(p.hash+4) // behind names and checksums
	number := make([]byte, 8)
	read(number[4:], offsets+4*int64(at))
	offset = int64(binary.BigEndian.Uint64(number))
	if offset >= far { // of a pack beyond 2 GB
		read(number, offsets+4*count+8*(offset-far))
		offset = int64(binary.BigEndian.Uint64(number))
	}
	return offset, err == nil, err
}
