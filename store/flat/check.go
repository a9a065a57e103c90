package flat

import (
	"bytes"
	"context"
	"math"

	"github.com/memcore/memcore/store/internal/disk"
)

// Check implements disk.Snapshot. It reads all bytes, of dead rows too.
func (s *snapshot) Check(ctx context.Context) error {
	if s.number == 0 {
		return nil
	}
	onDisk, err := openSnapshot(nil, s.number, s.folder, s.Dimension)
	if err != nil {
		return err
	}
	defer onDisk.Close()
	if onDisk.manifest != s.manifest || !bytes.Equal(onDisk.table, s.table) {
		return disk.Corrupt("table is not what was opened")
	}
	live := map[key]bool{}
	for row := range s.Rows {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := checkRow(s, row, live); err != nil {
			return err
		}
	}
	return nil
}

func checkRow(s *snapshot, row int, live map[key]bool) error {
	e := s.row(row)
	k := e.key()
	switch found, known := s.find([]key{k})[k]; {
	case !k.valid():
		return disk.Corrupt("row %d has no valid ID", row)
	case s.dead.has(row):
	case live[k]:
		return disk.Corrupt("record %s is there twice", k)
	case !known || found != row:
		return disk.Corrupt("record %s is not found by its ID", k)
	default:
		live[k] = true
	}
	if err := s.checkVector(row); err != nil {
		return err
	}
	square := 0.0
	for _, x := range s.vector(row) {
		square += float64(x) * float64(x)
	}
	if !(math.Abs(square-1) <= 1e-3) {
		return disk.Corrupt("vector of %s has length %v", k, math.Sqrt(square))
	}
	if !bytes.Equal(s.codes.between(row, row+1), NewCode(s.vector(row))) {
		return disk.Corrupt("code of %s is not that of its vector", k)
	}
	r, err := s.record(row)
	if err == nil && e.day() != disk.DayOf(r.Time) {
		return disk.Corrupt("entry of %s is of day %d, its time is %v", k, e.day(), r.Time)
	}
	return err
}
