package view

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/inject/httpapi"
	"github.com/memcore/memcore/internal/app/plain"
	"github.com/memcore/memcore/internal/text/excerpt"
)

// mapPage is the map and its pairs; a script fetches the points.
type mapPage struct {
	httpapi.Map
	Dots  []dot // for browsers without scripts
	Pairs []httpapi.Pair
}

// mapSide is the side of a picture without a script, in its own units.
const mapSide = 1000

// mostDots bounds a picture without a script.
const mostDots = 2000

// A dot is a point of the picture.
type dot struct{ X, Y, Colour int }

func (s statePages) mapOf(w http.ResponseWriter, r *http.Request, folder string) error {
	p, err := get(r.Context(), s.Server, folder, func(ws httpapi.Workspace) (p mapPage, err error) {
		if p.Map, err = ws.Map(r.Context(), httpapi.MapRequest{}); err != nil {
			return p, err
		}
		pairs, err := ws.Pairs(r.Context())
		p.Pairs = pairs.Pairs
		return p, err
	})
	if err != nil {
		return err
	}
	p.Dots = dotsOf(p.Map)
	return s.show(w, folder, "map", "map", "Map", p)
}

// Said describes the state of the map.
func (p mapPage) Said() string {
	shown := plain.Count(p.Points, "chunk")
	if p.Points < p.Chunks {
		shown = strconv.Itoa(p.Points) + " of " + plain.Count(p.Chunks, "chunk")
	}
	switch {
	case p.State == httpapi.MapComputing && p.Points == 0:
		return "The map is being computed: " + strconv.Itoa(p.Progress) + " %."
	case p.State == httpapi.MapComputing && p.Rough:
		return shown + ". The map is being computed: " + strconv.Itoa(p.Progress) + " %. This is a first sketch."
	case p.State == httpapi.MapComputing:
		return shown + ". A newer map is being computed: " + strconv.Itoa(p.Progress) + " %."
	}
	if !p.Made.IsZero() {
		shown += ", as of " + timeText(p.Made)
	}
	return shown + "."
}

// dotsOf takes every n-th point.
func dotsOf(m httpapi.Map) []dot {
	x, err := base64.StdEncoding.DecodeString(m.X)
	if err != nil || len(m.Documents) == 0 {
		return nil
	}
	y, err := base64.StdEncoding.DecodeString(m.Y)
	if err != nil || len(x) != len(y) || m.Points == 0 {
		return nil
	}
	var dots []dot
	step, end, document := (m.Points+mostDots-1)/mostDots, 0, -1
	for i := 0; i < len(x)/2; i += step {
		for i >= end && document+1 < len(m.Documents) {
			document++
			end += m.Documents[document].Points
		}
		scale := func(b []byte) int { return int(binary.LittleEndian.Uint16(b[2*i:])) * mapSide >> 16 }
		dots = append(dots, dot{scale(x), mapSide - scale(y), m.Documents[max(document, 0)].Source % colours})
	}
	return dots
}

// The style has colours group0, group1 and so on.
const colours = 8

// mapData answers the script with the points.
func (s statePages) mapData(w http.ResponseWriter, r *http.Request, folder string) error {
	m, err := get(r.Context(), s.Server, folder, func(ws httpapi.Workspace) (httpapi.Map, error) {
		return ws.Map(r.Context(), httpapi.MapRequest{Known: r.URL.Query().Get("known")})
	})
	if err != nil {
		return err
	}
	return answerJSON(w, struct {
		httpapi.Map
		Said string `json:"said"`
	}{m, mapPage{Map: m}.Said()})
}

// mostText bounds the text of a point, in bytes.
const mostText = 2000

// mapText answers the script with the text of a point.
func (s statePages) mapText(w http.ResponseWriter, r *http.Request, folder string) error {
	q := r.URL.Query()
	line, _ := strconv.Atoi(q.Get("line")) // 0 if it is no number, which no chunk has
	d, err := get(r.Context(), s.Server, folder, func(ws httpapi.Workspace) (httpapi.Document, error) {
		return ws.Document(r.Context(), httpapi.DocumentRequest{Path: q.Get("path"), Line: max(line, 1)})
	})
	if err != nil {
		return err
	}
	var texts []string
	var first core.MemoryHit
	for i, c := range d.Chunks {
		if i == 0 {
			first = c
		}
		texts = append(texts, c.Text)
	}
	text := excerpt.Of(strings.Join(texts, "\n\n"), mostText)
	said := ""
	if !first.Time.IsZero() {
		said = timeText(first.Time)
	}
	return answerJSON(w, map[string]string{"source": clean(first.Source), "time": said, "text": clean(text)})
}

func answerJSON(w http.ResponseWriter, body any) error {
	data, err := json.Marshal(body)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(data)
	return nil
}
