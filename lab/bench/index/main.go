// Command indexbench measures the first index of generated logs of agents: builds of memcore side by
// side, in turns.
//
// It prints what words alone take, and all with vectors: wall and processor time, memory, and what is
// on disk then. Then it searches, a process for each question. Run it with make -C lab bench-index.
package main

import (
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/memcore/memcore/lab/internal/laptop"
)

var (
	builds   = flag.String("memcore", "", "the programs, separated by commas")
	logs     = flag.Int("logs", 512, "logs of about 100 KB")
	rounds   = flag.Int("rounds", 1, "first indexes, of each program")
	searches = flag.Int("searches", 20, "of each program, after each first index")
)

func main() {
	flag.Parse()
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "indexbench:", err)
		os.Exit(1)
	}
}

func run() error {
	folder, err := os.MkdirTemp("", "memcore")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	l := laptop.In(folder)
	if err := l.WriteLogs(*logs); err != nil {
		return err
	}
	words, all, searched := map[string][]laptop.Took{}, map[string][]laptop.Took{}, map[string][]laptop.Took{}
	programs := strings.Split(*builds, ",")
	for range *rounds {
		for _, memcore := range programs {
			t, err := first(l, memcore, "MEMCORE_EMBEDDER=none")
			if err != nil {
				return err
			}
			words[memcore] = append(words[memcore], t)
			if t, err = first(l, memcore); err != nil {
				return err
			}
			all[memcore] = append(all[memcore], t)
			for n := range *searches {
				if t, err = l.Run(memcore, "", false, nil, "search", laptop.Question(n, *logs)); err != nil {
					return err
				}
				searched[memcore] = append(searched[memcore], t)
			}
			fmt.Printf("on disk: %s  %s\n", sizes(l.Home), memcore)
		}
	}
	for _, memcore := range programs {
		laptop.Report("first index, words alone", words[memcore], memcore)
		laptop.Report("first index, all", all[memcore], memcore)
		laptop.Report("search", searched[memcore], memcore)
	}
	return nil
}

// first indexes anew, with nothing of an earlier index or cache.
func first(l laptop.Laptop, memcore string, settings ...string) (laptop.Took, error) {
	for _, derived := range []string{".cache", ".local", ".config"} {
		if err := os.RemoveAll(filepath.Join(l.Home, derived)); err != nil {
			return laptop.Took{}, err
		}
	}
	return l.Run(memcore, "", false, settings, "index", "--conversations")
}

// sizes says what is in each folder that memcore keeps.
func sizes(home string) string {
	var all []string
	for _, folder := range []string{".cache/memcore", ".local"} {
		below, _ := os.ReadDir(filepath.Join(home, folder))
		for _, entry := range below {
			if size := sizeOf(filepath.Join(home, folder, entry.Name())); size >= 100_000 {
				all = append(all, fmt.Sprintf("%s %.1f MB", filepath.Join(folder, entry.Name()), float64(size)/1e6))
			}
		}
	}
	return strings.Join(all, ", ")
}

func sizeOf(path string) (total int64) {
	_ = filepath.WalkDir(path, func(_ string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() {
			if info, err := entry.Info(); err == nil {
				total += info.Size()
			}
		}
		return nil
	})
	return total
}
