package flat

import (
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/memcore/memcore/internal/filetime"
	"github.com/memcore/memcore/store/internal/disk"
)

// A verified records which blocks of blockSize rows are intact. A search reads many, so each is
// verified once, until the files change.
type verified struct {
	codesAt, vectorsAt time.Time // when the files were written
	doubtful           bool      // later writes may have the same time
	codes, vectors     []atomic.Bool
}

// Unchanged implements generation.Snapshot. It forgets what was verified if files may have changed.
func (s *snapshot) Unchanged(folder string) bool {
	now := time.Now()
	codesAt, vectorsAt := writtenAt(folder, codesFile), writtenAt(folder, vectorsFile)
	known := s.verified.Load()
	if known != nil && !known.doubtful && known.codesAt.Equal(codesAt) && known.vectorsAt.Equal(vectorsAt) {
		return true
	}
	blocks := (s.Rows + blockSize - 1) / blockSize
	doubtful := filetime.Doubtful(codesAt, now) || filetime.Doubtful(vectorsAt, now)
	s.verified.Store(&verified{codesAt, vectorsAt, doubtful, make([]atomic.Bool, blocks), make([]atomic.Bool, blocks)})
	return true
}

// writtenAt is zero for a deleted file, which is still mapped.
func writtenAt(folder, name string) time.Time {
	info, err := os.Stat(filepath.Join(folder, name))
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

// verify checks all rows of the row's block.
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
		return disk.Corrupt("vector of %s has the wrong checksum", e.key())
	}
	return nil
}

// checkCode is as good as comparing with the vector, in a tenth of the time.
func (s *snapshot) checkCode(row int) error {
	e := s.row(row)
	if codeSumOf(s.codes.between(row, row+1)) != e.codeSum() {
		return disk.Corrupt("code of %s has the wrong checksum", e.key())
	}
	return nil
}
