// Package browser_test drives a real browser through the pages of memcore view.
//
// MEMCORE is the program; without it, or without a browser, the tests are skipped. With CI=true
// that is a failure. MEMCORE_SHOTS is a folder for screenshots.
package browser_test

import (
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// Each page fits its window.
func TestPages(t *testing.T) {
	_, ctx, address := usedHome(t)
	all := allPages(t, ctx, address)
	for _, look := range looks {
		do(t, ctx, chromedp.EmulateViewport(look.width, look.height), scheme(look.colours))
		for name, link := range all {
			do(t, ctx, visit(link), shown("h1"))
			shot(t, ctx, name+"-"+look.name)
			width := evaluate[int64](t, ctx, "document.documentElement.scrollWidth")
			require.LessOrEqual(t, width, look.width, "%s scrolls sideways, %s", name, look.name)
		}
	}
}

// pages are the paths of all pages, with something to see.
var pages = map[string]string{
	"overview": "", "ask": "ask?q=I+changed+the+nginx+rules.+What+do+I+have+to+do+now%3F", "turns": "turns",
	"memory": "memory", "document": "document?path=notes/deploy.md", "system": "system",
	"queue": "queue",
}
