// Command supply says what a built memcore is made of: the notices of the modules that are linked into it, its bill of
// materials, and what each module adds to its size.
//
//	go -C internal/supply run . notices MEMCORE    texts of all licences; fails if one is missing or of a kind that is not allowed
//	go -C internal/supply run . sbom MEMCORE       bill of materials, CycloneDX 1.6 as JSON, checked against its schema
//	go -C internal/supply run . sizes MEMCORE      bytes by module, of a program that was not stripped
//
// It is a module of its own, so that what it needs is no dependency of memcore's. MEMCORE is an absolute path.
package main

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

func main() {
	root := flag.String("root", filepath.Join("..", ".."), "folder of memcore's source")
	flag.Usage = func() {
		fmt.Fprintln(os.Stderr, "usage: supply [-root DIR] notices|sbom|sizes MEMCORE")
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() != 2 {
		flag.Usage()
		os.Exit(2)
	}
	out := bufio.NewWriter(os.Stdout)
	err := run(out, flag.Arg(0), *root, flag.Arg(1))
	if err == nil {
		err = out.Flush()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "supply:", err)
		os.Exit(1)
	}
}

func run(w io.Writer, what, root, binary string) error {
	p, err := readProgram(root, binary)
	if err != nil {
		return err
	}
	switch what {
	case "notices":
		return p.notices(w)
	case "sbom":
		return p.sbom(w)
	case "sizes":
		return p.sizes(w)
	}
	return fmt.Errorf("there is no %q: want notices, sbom or sizes", what)
}
