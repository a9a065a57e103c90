package harness

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// A Usage is the resources of a process.
type Usage struct {
	Resident    float64 // MB
	Threads     int
	Descriptors int
	Children    int
}

// Usage reads /proc.
func (p *Process) Usage() (u Usage, err error) {
	proc := filepath.Join("/proc", strconv.Itoa(p.PID))
	status, err := os.ReadFile(filepath.Join(proc, "status"))
	if err != nil {
		return u, err
	}
	for line := range strings.Lines(string(status)) {
		name, value, _ := strings.Cut(line, ":")
		fields := strings.Fields(value)
		switch {
		case len(fields) == 0:
		case name == "VmRSS":
			kb, _ := strconv.ParseFloat(fields[0], 64)
			u.Resident = kb / 1024
		case name == "Threads":
			u.Threads, _ = strconv.Atoi(fields[0])
		}
	}
	if u.Resident == 0 || u.Threads == 0 {
		return u, fmt.Errorf("%s has neither memory nor threads: it has ended", p.Name)
	}
	open, err := os.ReadDir(filepath.Join(proc, "fd"))
	if err != nil {
		return u, err
	}
	u.Descriptors = len(open)
	tasks, err := filepath.Glob(filepath.Join(proc, "task", "*", "children"))
	if err != nil {
		return u, err
	}
	for _, task := range tasks {
		children, _ := os.ReadFile(task) // the thread may have ended
		u.Children += len(strings.Fields(string(children)))
	}
	return u, nil
}

// Size counts the files below a folder and their bytes.
func Size(folder string) (files int, bytes int64) {
	_ = filepath.WalkDir(folder, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return nil
		}
		if info, err := entry.Info(); err == nil {
			files++
			bytes += info.Size()
		}
		return nil
	})
	return files, bytes
}
