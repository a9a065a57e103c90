package browser_test

import (
	"bytes"
	"cmp"
	"context"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// mostPicture is how large a picture of the documentation may be.
const mostPicture = 60 << 10

// TestPictures makes the pictures of README and docs, if MEMCORE_PICTURES names a folder.
func TestPictures(t *testing.T) {
	folder := os.Getenv("MEMCORE_PICTURES")
	if folder == "" {
		t.Skip("MEMCORE_PICTURES names no folder")
	}
	h := newHome(t)
	age(t, h.workspace)
	h.run(t, "", "index", "--conversations")
	h.run(t, "", "view", "--link") // starts the daemon
	for _, prompt := range []string{"I changed the nginx rules. What do I have to do now?", "go on", "What is the limit of the API?", "Which port does the staging database use?"} {
		h.run(t, `{"hook_event_name":"UserPromptSubmit","session_id":"one","prompt":"`+prompt+`"}`, "hook", "claude-code")
	}
	ctx := newBrowser(t)
	do(t, ctx, scheme("light"), visit(h.run(t, "", "view", "--link")), shown("h1"))
	address := get(t, ctx, chromedp.Location())
	for name, height := range pictures {
		do(t, ctx, chromedp.EmulateViewport(1200, height, chromedp.EmulateScale(1.25)), visit(address+pages[name]), shown("h1"))
		shortenPaths(t, ctx, h.dir)
		data := small(t, get(t, ctx, chromedp.CaptureScreenshot()))
		require.Less(t, len(data), mostPicture, name)
		require.NoError(t, os.WriteFile(filepath.Join(folder, "view-"+name+".png"), data, 0o644))
	}
}

// pictures are the pages that the documentation shows, with the height of the picture.
var pictures = map[string]int64{"ask": 700, "document": 700, "turns": 700}

// age spreads the times of a workspace's files over a year.
func age(t *testing.T, folder string) {
	t.Helper()
	n := 0
	require.NoError(t, filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		n++
		at := time.Now().AddDate(0, 0, -n*n%331)
		return os.Chtimes(path, at, at)
	}))
}

// shortenPaths shows a home as "~", and the candidates of an answer.
func shortenPaths(t *testing.T, ctx context.Context, home string) {
	t.Helper()
	get(t, ctx, chromedp.Evaluate[bool](`{
		const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
		while (texts.nextNode()) texts.currentNode.data = texts.currentNode.data.replaceAll("`+home+`", "~");
		document.activeElement.blur();
		[...document.querySelectorAll("main h2")].find((h) => h.textContent === "Candidates")?.scrollIntoView();
		true
	}`))
}

// small returns a PNG with the colours that a picture has most, at most 32.
func small(t *testing.T, data []byte) []byte {
	t.Helper()
	full, err := png.Decode(bytes.NewReader(data))
	require.NoError(t, err)
	counts := map[color.RGBA]int{}
	for y := full.Bounds().Min.Y; y < full.Bounds().Max.Y; y++ {
		for x := full.Bounds().Min.X; x < full.Bounds().Max.X; x++ {
			counts[color.RGBAModel.Convert(full.At(x, y)).(color.RGBA)]++
		}
	}
	byCount := slices.SortedFunc(maps.Keys(counts), func(a, b color.RGBA) int { return cmp.Compare(counts[b], counts[a]) })
	var palette color.Palette
	for _, c := range byCount {
		if len(palette) < 32 && !slices.ContainsFunc(palette, func(other color.Color) bool { return near(c, other.(color.RGBA)) }) {
			palette = append(palette, c)
		}
	}
	few := image.NewPaletted(full.Bounds(), palette)
	draw.Draw(few, few.Bounds(), full, full.Bounds().Min, draw.Src)
	var b bytes.Buffer
	require.NoError(t, (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&b, few))
	return b.Bytes()
}

// near reports whether one of two colours is enough.
func near(a, b color.RGBA) bool {
	apart := func(x, y uint8) int { return (int(x) - int(y)) * (int(x) - int(y)) }
	return apart(a.R, b.R)+apart(a.G, b.G)+apart(a.B, b.B) < 14*14
}
