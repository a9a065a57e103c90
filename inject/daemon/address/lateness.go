package address

import (
	"os"
	"path/filepath"
	"strconv"
	"time"
)

const (
	// HookWait is how long hooks wait for a sign of life of the daemon.
	HookWait = 120 * time.Millisecond
	// WorkWait is how long they wait for the answer of one that works: with less time left, none
	// could do the work itself.
	WorkWait = 270 * time.Millisecond
	// maxMute is how long hooks avoid a daemon that hangs.
	maxMute = 30 * time.Second
)

// How much a late answer counts: that of a daemon without a sign of life, and of one that works,
// which opens a memory or shares a busy machine.
const (
	Silent  = 3
	Working = 1
)

// A Lateness says how late the daemon was for hooks.
type Lateness struct {
	// Times is the sum of what late answers in a row count; 0 if the last answer was in time.
	Times int
	file  string
	last  time.Time
}

// LatenessIn reads the file that Note writes in the daemon's folder. An unreadable file counts as
// Silent.
func LatenessIn(folder string) Lateness {
	l := Lateness{file: filepath.Join(folder, "silent")}
	info, err := os.Stat(l.file)
	if err != nil {
		return l
	}
	l.Times, l.last = Silent, info.ModTime()
	if text, err := os.ReadFile(l.file); err == nil {
		if n, err := strconv.Atoi(string(text)); err == nil {
			l.Times = max(n, 1)
		}
	}
	return l
}

// Mute returns how long hooks avoid the daemon from now on: ever longer, but not after one answer
// without a sign of life. A changed clock may put the last into the future.
func (l Lateness) Mute(now time.Time) time.Duration {
	if l.Times < 2*Silent {
		return 0
	}
	whole := min(time.Second<<min(l.Times/Silent-2, 10), maxMute)
	return max(whole-now.Sub(l.last).Abs(), 0)
}

// Note counts a late answer as Silent or Working.
func (l Lateness) Note(as int) { _ = os.WriteFile(l.file, []byte(strconv.Itoa(l.Times+as)), 0o600) }

// Forget ends the count.
func (l Lateness) Forget() {
	if l.Times > 0 {
		_ = os.Remove(l.file)
	}
}
