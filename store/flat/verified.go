package flat

import (
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/memcore/memcore/internal/filetime"
)

// A verifier knows which rows of a snapshot have the right checksums. Each is looked at once, since a search reads all codes and
// many vectors every time. That holds until somebody writes into the files, which commits do, and damage.
type verifier struct{ seen atomic.Pointer[seen] }

// seen is what was verified of files that were written at the given times: blocks of blockSize rows.
type seen struct {
	codesAt, vectorsAt time.Time
	hasty              bool // they may have been written to again since, and bear the same time
	codes, vectors     []atomic.Bool
}

// look forgets what was verified if the files have been written to since, or so lately that one cannot tell. The caller holds
// Index.mu.
func (v *verifier) look(folder string, rows int) {
	now := time.Now()
	codesAt, vectorsAt := writtenAt(folder, codesFile), writtenAt(folder, vectorsFile)
	if known := v.seen.Load(); known != nil && !known.hasty && known.codesAt.Equal(codesAt) && known.vectorsAt.Equal(vectorsAt) {
		return
	}
	blocks := (rows + blockSize - 1) / blockSize
	hasty := filetime.Doubtful(codesAt, now) || filetime.Doubtful(vectorsAt, now)
	v.seen.Store(&seen{codesAt, vectorsAt, hasty, make([]atomic.Bool, blocks), make([]atomic.Bool, blocks)})
}

// writtenAt is zero for a file that is gone, which is no matter: it is mapped.
func writtenAt(folder, name string) time.Time {
	info, err := os.Stat(filepath.Join(folder, name))
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

// verify makes sure of all rows of the block that row is in.
func (s *snapshot) verify(blocks []atomic.Bool, row int, check func(row int) error) error {
	number := row / blockSize
	if blocks[number].Load() {
		return nil
	}
	for row := number * blockSize; row < min((number+1)*blockSize, s.Rows); row++ {
		if err := check(row); err != nil {
			return err
		}
	}
	blocks[number].Store(true)
	return nil
}

func (s *snapshot) checkVector(row int) error {
	e := s.row(row)
	if checksum(bytesOf(s.vector(row))) != e.vectorSum() {
		return corrupt("vector of %s has the wrong checksum", e.key())
	}
	return nil
}

// checkCode is as good as comparing with the code of the vector, which takes ten times as long.
func (s *snapshot) checkCode(row int) error {
	e := s.row(row)
	if codeSumOf(s.codes.between(row, row+1)) != e.codeSum() {
		return corrupt("code of %s has the wrong checksum", e.key())
	}
	return nil
}
