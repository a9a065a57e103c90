// Command release describes the parts of a built memcore, given by its absolute path:
//
//	go -C lab/release run . notices MEMCORE    licences; fails if one is missing
//	go -C lab/release run . sbom MEMCORE       bill of materials, CycloneDX 1.6 as JSON
//
// It is in the lab, so that memcore does not depend on its modules.
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
		fmt.Fprintln(os.Stderr, "usage: supply [-root DIR] notices|sbom MEMCORE")
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
	}
	return fmt.Errorf("unknown command %q, want notices or sbom", what)
}
