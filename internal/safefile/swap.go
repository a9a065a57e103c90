package safefile

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/memcore/memcore/internal/filetime"
)

// Errors of Swap and RemoveIf.
var (
	// ErrChanged means that a file has other content than the caller read.
	ErrChanged = errors.New("the file has changed since")
	ErrBusy    = errors.New("another program has it open for writing: close it there and try again")
)

// kept marks a version that cannot be put back.
const kept = ".memcore-kept-"

// maxExchanges bounds exchanges while other programs write.
const maxExchanges = 100

// Swap is Replace for an existing file with the content before. Other content is ErrChanged.
//
// No edit is lost, whether a program renames a file over this one or writes in place: Swap
// exchanges two files in one step and checks the old one. If it is not before, or still being
// written, Swap puts it back. Where files cannot be exchanged, Swap misses a rename in the
// microseconds before its own.
func Swap(dir, name string, before, after []byte) error {
	if bytes.Equal(before, after) {
		return nil
	}
	return put(dir, name, after, 0o600, false, func(folder *os.Root, temporary, base string) error {
		unlock, _ := lockFolder(folder, maxLock)
		defer unlock()
		if err := unchanged(folder, base, before); err != nil {
			return err
		}
		return swap(folder, temporary, base, before, after)
	})
}

// Update writes the result of change; nil changes nothing. If another program writes meanwhile,
// Update calls change again.
func Update(dir, name string, limit int64, mode fs.FileMode, change func(before []byte) ([]byte, error)) error {
	var err error
	for range 10 {
		before, _, missing := ReadFile(dir, name, limit)
		if missing != nil && !errors.Is(missing, fs.ErrNotExist) {
			return missing
		}
		after, failed := change(before)
		if failed != nil || after == nil {
			return failed
		}
		if missing != nil {
			err = Create(dir, name, after, mode)
		} else {
			err = Swap(dir, name, before, after)
		}
		if !errors.Is(err, fs.ErrExist) && !errors.Is(err, ErrChanged) {
			return err
		}
	}
	return err
}

// RemoveIf removes a regular file with this content, else ErrChanged.
func RemoveIf(dir, name string, before []byte) error {
	folder, base, err := descend(dir, name)
	if err != nil {
		return err
	}
	defer folder.Close()
	unlock, _ := lockFolder(folder, maxLock)
	defer unlock()
	if err := unchanged(folder, base, before); err != nil {
		return err
	}
	temporary := swapName(base, before, nil)
	if err := folder.Rename(base, temporary); err != nil {
		return err
	}
	out, err := settled(folder, temporary)
	if err == nil && out == sumOf(before) {
		return errors.Join(folder.Remove(temporary), syncFolder(folder.Open, "."))
	}
	if linking := folder.Link(temporary, base); linking == nil {
		return errors.Join(changedOr(err), folder.Remove(temporary))
	}
	return errors.Join(changedOr(err), keep(folder, temporary, base))
}

// swap exchanges files. Other programs' last version ends up at base.
func swap(folder *os.Root, written, base string, before, after []byte) error {
	temporary := swapName(base, before, after)
	if err := folder.Rename(written, temporary); err != nil {
		return err
	}
	err := exchange(folder, temporary, base)
	if errors.Is(err, errors.ErrUnsupported) {
		return overtake(folder, temporary, base, before)
	}
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = ErrChanged
		}
		return errors.Join(err, folder.Remove(temporary))
	}
	expected, given := sumOf(before), sumOf(after) // the sums of the old file and the new
	var failed error
	for round := range maxExchanges {
		out, err := settled(folder, temporary)
		switch {
		case err == nil && out == expected && round == 0:
			return folder.Remove(temporary)
		case err == nil && out == expected:
			return errors.Join(changedOr(failed), folder.Remove(temporary))
		case round == 0:
			failed = err
		}
		if err := exchange(folder, temporary, base); err != nil {
			return errors.Join(changedOr(failed), err, keep(folder, temporary, base))
		}
		expected, given = given, out
	}
	return errors.Join(changedOr(failed), keep(folder, temporary, base))
}

// overtake is swap where files cannot be exchanged.
func overtake(folder *os.Root, temporary, base string, before []byte) error {
	aside := temporary + "~"
	if err := folder.Link(base, aside); err != nil { // no hard links either
		err = folder.Rename(temporary, base)
		if err != nil {
			err = errors.Join(err, folder.Remove(temporary))
		}
		return err
	}
	if err := folder.Rename(temporary, base); err != nil {
		return errors.Join(err, folder.Remove(aside), folder.Remove(temporary))
	}
	out, err := settled(folder, aside)
	if err == nil && out == sumOf(before) {
		return folder.Remove(aside)
	}
	return errors.Join(changedOr(err), folder.Rename(aside, base))
}

// unchanged returns ErrChanged unless a file has that content.
func unchanged(folder *os.Root, name string, content []byte) error {
	out, err := sumNow(folder, name)
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && out != sumOf(content):
		return ErrChanged
	}
	return err
}

func changedOr(err error) error {
	if err != nil {
		return err
	}
	return ErrChanged
}

// keep gives a version a visible name beside the file.
func keep(folder *os.Root, temporary, base string) error {
	name := strings.TrimPrefix(base, ".") + kept + rand.Text()[:6]
	if err := folder.Rename(temporary, name); err != nil {
		return err
	}
	return fmt.Errorf("another version of it is kept in %s", name)
}

// settled returns the sum of a file once no program writes it, or ErrBusy. Other programs must not
// know the name.
func settled(folder *os.Root, name string) (string, error) {
	info, err := folder.Lstat(name)
	if err != nil || !info.Mode().IsRegular() {
		return sumNow(folder, name)
	}
	file, err := folder.OpenFile(name, os.O_RDONLY|Nonblock, 0)
	if err != nil {
		return "", err
	}
	defer file.Close()
	for began := time.Now(); ; {
		release, err := noWriter(file)
		if err == nil {
			var sum string
			sum, err = sumOfFile(file)
			if still := release(); still || err != nil {
				return sum, err
			}
		} else if !errors.Is(err, errWriter) {
			return "", err
		}
		if time.Since(began) > maxWrite {
			return "", ErrBusy
		}
		time.Sleep(time.Millisecond)
	}
}

var errWriter = errors.New("open for writing")

// Times that Swap waits.
const (
	maxLock  = 5 * time.Second // for another swap in the folder
	maxWrite = time.Second     // for a program that has the file open for writing
)

// unmodified is noWriter where the system does not know. It notices writes within 20 ms.
func unmodified(file *os.File) (release func() (still bool), err error) {
	before, err := file.Stat()
	if err != nil {
		return nil, err
	}
	return func() bool {
		time.Sleep(20 * time.Millisecond)
		after, err := file.Stat()
		return err == nil && after.ModTime().Equal(before.ModTime()) && after.Size() == before.Size()
	}, nil
}

// sumNow returns a file's SHA-256, or the kind of anything else.
func sumNow(folder *os.Root, name string) (string, error) {
	info, err := folder.Lstat(name)
	switch {
	case err != nil:
		return "", err
	case info.Mode()&fs.ModeSymlink != 0:
		to, err := folder.Readlink(name)
		return "link to " + to, err
	case !info.Mode().IsRegular():
		return KindOf(info.Mode()), nil
	}
	file, err := folder.OpenFile(name, os.O_RDONLY|Nonblock, 0)
	if err != nil {
		return "", err
	}
	defer file.Close()
	return sumOfFile(file)
}

func sumOfFile(file *os.File) (string, error) {
	data, err := readAll(io.NewSectionReader(file, 0, maxFile+1), maxFile)
	if err != nil {
		return "", err
	}
	return sumOf(data), nil
}

// maxFile bounds the files that Swap compares, in bytes.
const maxFile = 1 << 30

func sumOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// A swap's temporary file is named by the sums of before and after. Other content in it, after a
// kill, is an edit.
const (
	swapping  = ".memcore-swap-"
	shortSum  = 16
	swapStart = len(swapping) + 2*shortSum + 8 // of base in the name
	// File systems allow names of 255 bytes.
	maxBase = 255 - swapStart - len("~")
)

func swapName(base string, before, after []byte) string {
	return swapping + sumOf(before)[:shortSum] + sumOf(after)[:shortSum] + rand.Text()[:7] + "-" + base[:min(len(base), maxBase)]
}

// recoverSwaps recovers swaps by their temporary files, unless one may be going on.
func recoverSwaps(folder *os.Root, names []string) {
	unlock, alone := lockFolder(folder, 0)
	defer unlock()
	for _, name := range names {
		info, err := folder.Lstat(name)
		if err != nil || len(name) <= swapStart {
			continue
		}
		// Without a lock only the age tells. A swap keeps the time of modification.
		if alone || time.Since(filetime.Changed(info)) >= Abandoned && time.Since(info.ModTime()) >= Abandoned {
			recoverSwap(folder, name)
		}
	}
}

// recoverSwap removes a killed Swap's file, or puts an edit back.
func recoverSwap(folder *os.Root, name string) {
	base := strings.TrimSuffix(name[swapStart:], "~")
	sums := name[len(swapping):]
	is := func(sum, short string) bool { return strings.HasPrefix(sum, short) }
	before, after := sums[:shortSum], sums[shortSum:2*shortSum]
	out, err := sumNow(folder, name)
	if err != nil {
		return
	}
	if is(out, before) || is(out, after) {
		_ = folder.Remove(name)
		return
	}
	now, err := sumNow(folder, base)
	if errors.Is(err, fs.ErrNotExist) || err == nil && is(now, after) {
		_ = folder.Rename(name, base)
		return
	}
	_ = keep(folder, name, base)
}
