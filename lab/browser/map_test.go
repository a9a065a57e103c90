package browser_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

func TestMap(t *testing.T) {
	h := newHome(t)
	const folder = "<img src=x onerror=alert(1)>\u202e"
	require.NoError(t, os.Mkdir(filepath.Join(h.workspace, folder), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(h.workspace, folder, "a.md"), []byte("# <b>Bold</b>\n\n<script>alert(1)</script> and <img src=x onerror=alert(2)>\n"), 0o600))
	h.run(t, "", "index")
	ctx := newBrowser(t)
	address := h.open(t, ctx)
	do(t, ctx, chromedp.EmulateViewport(1280, 900), visit(address+"map"), shown(".map circle"))
	require.Greater(t, evaluate[int](t, ctx, `document.querySelectorAll(".map circle").length`), 5)
	for _, colours := range []string{"light", "dark"} {
		do(t, ctx, scheme(colours))
		shot(t, ctx, "map-desktop-"+colours)
	}
	legend := evaluate[string](t, ctx, `document.querySelector(".legend").textContent`)
	require.Contains(t, legend, "notes")
	require.Contains(t, legend, "%3Cimg src=x", "as in citations")
	require.NotContains(t, legend, "\u202e")
	require.Zero(t, evaluate[int](t, ctx, `document.querySelectorAll("main img, main b, main script").length`))

	do(t, ctx, chromedp.EmulateViewport(390, 844))
	require.LessOrEqual(t, evaluate[int](t, ctx, "document.documentElement.scrollWidth"), 390)
	shot(t, ctx, "map-phone-dark")

	// A point says what it is, and leads to its lines.
	require.Contains(t, evaluate[string](t, ctx, `document.querySelector(".map a[href*='deploy.md'] title").textContent`), "notes/deploy.md: ")
	at := evaluate[[]float64](t, ctx, `(() => {
		const dots = [...document.querySelectorAll(".map a[href*='deploy.md'] circle")];
		for (const dot of dots) {
			dot.scrollIntoView({ block: "center", behavior: "instant" });
			const box = dot.getBoundingClientRect(), x = box.x + box.width / 2, y = box.y + box.height / 2;
			if (document.elementFromPoint(x, y) === dot) return [x, y]; // no other dot covers it
		}
		return [0, 0];
	})()`)
	do(t, ctx, chromedp.MouseClickXY(at[0], at[1]))
	until(t, ctx, `location.pathname.endsWith("/document") && /^#L\d+$/.test(location.hash)`)
}
