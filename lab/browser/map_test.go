package browser_test

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"
)

// openMap opens the map, and waits until it is drawn.
func openMap(t *testing.T, ctx context.Context, h home) (address string) {
	t.Helper()
	do(t, ctx, chromedp.EmulateViewport(1280, 900), visit(h.run(t, "", "view", "--link")), shown(".figures"))
	address = get(t, ctx, chromedp.Location())
	do(t, ctx, visit(address+"map"), shown("#map-canvas"), shown("#map-legend button"))
	require.Eventually(t, func() bool {
		return get(t, ctx, chromedp.Evaluate[bool]("!document.getElementById('map-said').textContent.includes('computed') && !document.getElementById('map-wait')"))
	}, time.Minute, 100*time.Millisecond)
	return address
}

// saidBy evaluates text of the page.
func saidBy(t *testing.T, ctx context.Context, expression string) string {
	t.Helper()
	return get(t, ctx, chromedp.Evaluate[string](expression))
}

func TestMap(t *testing.T) {
	h := newHome(t)
	require.NoError(t, os.WriteFile(filepath.Join(h.workspace, "notes", "copy.md"), []byte("# Lunch\n\nOn Tuesdays the team eats lunch at the pier, and Maren books the long table for twelve people.\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(h.workspace, "notes", "other.md"), []byte("# Lunch\n\nOn Tuesdays the team eats lunch at the pier; Maren books the long table for twelve people.\n"), 0o600))
	const folder = "<img src=x onerror=alert(1)>\u202e"
	require.NoError(t, os.Mkdir(filepath.Join(h.workspace, folder), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(h.workspace, folder, "a.md"), []byte("# <b>Bold</b>\n\n<script>alert(1)</script> and <img src=x onerror=alert(2)>\n"), 0o600))
	h.run(t, "", "index")
	ctx := newBrowser(t)
	address := openMap(t, ctx, h)
	t.Log("drawn by", saidBy(t, ctx, "document.getElementById('map-canvas').dataset.painter"))
	require.Contains(t, saidBy(t, ctx, "document.querySelector('.pairs').textContent"), "notes/copy.md")
	for _, colours := range []string{"light", "dark"} {
		do(t, ctx, scheme(colours), chromedp.Sleep(200*time.Millisecond))
		shot(t, ctx, "map-desktop-"+colours)
	}
	get(t, ctx, chromedp.Evaluate[bool]("document.getElementById('map-colour').value = 'folder', document.getElementById('map-colour').dispatchEvent(new Event('change'))"))
	require.Contains(t, saidBy(t, ctx, "document.getElementById('map-legend').textContent"), "notes")
	do(t, ctx, clickOn("#map-legend button"))
	require.Equal(t, "false", saidBy(t, ctx, "document.querySelector('#map-legend button').getAttribute('aria-pressed')"))
	do(t, ctx, clickOn("#map-legend button"))

	require.Contains(t, saidBy(t, ctx, "document.getElementById('map-legend').textContent"), "<img src=x")
	require.NotContains(t, saidBy(t, ctx, "document.getElementById('map-legend').textContent"), "\u202e")
	require.Zero(t, get(t, ctx, chromedp.Evaluate[int64]("document.querySelectorAll('main img, main b').length")))

	// A click opens the chunk where it is, and so does Enter.
	chooseByKeys(t, ctx)
	shot(t, ctx, "map-chosen")
	at := get(t, ctx, chromedp.Evaluate[[]float64]("(({x, y, width}) => [x + width / 2, y + width / 2])(document.querySelector('#map-mark circle').getBoundingClientRect())"))
	do(t, ctx, chromedp.MouseClickXY(at[0], at[1]), shown(".indexed"))
	require.Regexp(t, `document\?path=.*#L\d+$`, get(t, ctx, chromedp.Location()))
	do(t, ctx, visit(address+"map"), shown("#map-legend button"))
	chooseByKeys(t, ctx)
	do(t, ctx, chromedp.KeyEvent(kb.Enter), shown(".indexed"))
	require.Regexp(t, `document\?path=.*#L\d+$`, get(t, ctx, chromedp.Location()))

	// On a phone, and without scripts.
	do(t, ctx, chromedp.EmulateViewport(390, 844), visit(address+"map"), shown("#map-legend button"), chromedp.Sleep(300*time.Millisecond))
	shot(t, ctx, "map-phone-dark")
	require.LessOrEqual(t, get(t, ctx, chromedp.Evaluate[int64]("document.documentElement.scrollWidth")), int64(390))
	do(t, ctx, withoutScripts(), visit(address+"map"), shown(".map-still"))
	shot(t, ctx, "map-without-scripts")
	require.Greater(t, get(t, ctx, chromedp.Evaluate[int64]("document.querySelectorAll('.map-still circle').length")), int64(5))
}

// chooseByKeys moves the map by keys until a chunk is in its middle and its text is shown.
func chooseByKeys(t *testing.T, ctx context.Context) {
	t.Helper()
	do(t, ctx, chromedp.Focus("#map-canvas"))
	for _, key := range []string{kb.ArrowLeft, kb.ArrowUp, "+", "0", "-"} {
		do(t, ctx, chromedp.KeyEvent(key))
	}
	require.Eventually(t, func() bool {
		do(t, ctx, chromedp.KeyEvent(kb.ArrowRight))
		return saidBy(t, ctx, "document.querySelector('#map-text bdi').textContent") != ""
	}, 20*time.Second, 150*time.Millisecond)
	require.Eventually(t, func() bool {
		return saidBy(t, ctx, "document.querySelector('#map-mark circle').getAttribute('cx')") != "-99"
	}, time.Minute, 50*time.Millisecond)
}

// Without WebGL the map is drawn on a canvas.
func TestMapWithoutWebGL(t *testing.T) {
	h := newHome(t)
	h.run(t, "", "index")
	ctx := newBrowser(t)
	do(t, ctx, chromedp.Func(func(ctx context.Context, p *chromedp.Target) error {
		_, err := cdp.Call(ctx, p, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{
			Source: "const real = HTMLCanvasElement.prototype.getContext; HTMLCanvasElement.prototype.getContext = function (kind, ...more) { return kind === 'webgl' ? null : real.call(this, kind, ...more); }"})
		return err
	}))
	openMap(t, ctx, h)
	require.Equal(t, "canvas", saidBy(t, ctx, "document.getElementById('map-canvas').dataset.painter"))
	do(t, ctx, chromedp.Sleep(300*time.Millisecond))
	require.Greater(t, get(t, ctx, chromedp.Evaluate[int64]("document.getElementById('map-canvas').getContext('2d').getImageData(0, 0, 2000, 2000).data.filter((v, i) => i % 4 === 3 && v).length")), int64(500))
}

func withoutScripts() chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, p *chromedp.Target) error {
		_, err := cdp.Call(ctx, p, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
		return err
	})
}

// A map of 100,000 points stays smooth. Its file is made here: the index is small.
func TestMapOfManyPoints(t *testing.T) {
	h := newHome(t)
	h.run(t, "", "index")
	found, err := filepath.Glob(filepath.Join(h.dir, ".cache", "memcore", "index", "*", "data", "CURRENT"))
	require.NoError(t, err)
	require.NotEmpty(t, found)
	ctx := newBrowser(t)
	openMap(t, ctx, h)
	file := filepath.Join(filepath.Dir(found[0]), "map.json")
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	var chart map[string]any
	require.NoError(t, json.Unmarshal(data, &chart))
	documents := chart["Documents"].([]any)
	const points = 100_000
	random := rand.New(rand.NewPCG(1, 1))
	var x, y, lines, days []byte
	for i, d := range documents {
		of := points / len(documents)
		if i == 0 {
			of = points - (len(documents)-1)*of
		}
		d.(map[string]any)["points"] = of
		for range of {
			centre, angle, far := float64(random.IntN(40)), 2*math.Pi*random.Float64(), random.ExpFloat64()*700
			x = binary.LittleEndian.AppendUint16(x, uint16(32_768+26_000*math.Cos(centre*2.4)*math.Sqrt(centre/40)+far*math.Cos(angle)))
			y = binary.LittleEndian.AppendUint16(y, uint16(32_768+26_000*math.Sin(centre*2.4)*math.Sqrt(centre/40)+far*math.Sin(angle)))
			lines = binary.LittleEndian.AppendUint32(lines, 1)
			days = binary.LittleEndian.AppendUint16(days, uint16(20_000+random.IntN(700)))
		}
	}
	chart["X"], chart["Y"], chart["Lines"], chart["Days"] = x, y, lines, days
	data, err = json.Marshal(chart)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, data, 0o600))

	began := time.Now()
	openMap(t, ctx, h)
	t.Logf("%d points, opened in %v, drawn by %s", points, time.Since(began).Round(time.Millisecond), saidBy(t, ctx, "document.getElementById('map-canvas').dataset.painter"))
	require.Contains(t, saidBy(t, ctx, "document.getElementById('map-said').textContent"), "100000 chunks")
	t.Logf("bytes of the data: %d", get(t, ctx, chromedp.Evaluate[int64]("performance.getEntriesByType('resource').find((e) => e.name.includes('map-data')).decodedBodySize")))
	frames := get(t, ctx, chromedp.Evaluate[float64](panning, chromedp.EvalAwaitPromise))
	t.Logf("%.0f frames a second while panning", frames)
	require.Greater(t, frames, 3.0)
	shot(t, ctx, "map-many")
}

// panning drags the map for two seconds and returns frames a second.
const panning = `new Promise((done) => {
  const canvas = document.getElementById("map-canvas"), box = canvas.getBoundingClientRect();
  const event = (type, x) => canvas.dispatchEvent(new PointerEvent(type, { pointerId: 1, clientX: box.left + x, clientY: box.top + 200, bubbles: true }));
  canvas.setPointerCapture = () => {};
  event("pointerdown", 300);
  const began = performance.now();
  let frames = 0;
  const next = () => {
    const now = performance.now() - began;
    if (now > 2000) return done(frames / now * 1000);
    frames++;
    event("pointermove", 300 + 100 * Math.sin(now / 200));
    requestAnimationFrame(next);
  };
  requestAnimationFrame(next);
})`
