package httpapi

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// maxStreams bounds the streams of events.
const maxStreams = 64

// publish sends to all streams. Slow ones miss events.
func (s *Server) publish(e Event) {
	if e.Kind == "problem" {
		s.log.Warn("workspace", "workspace", e.Workspace, "problem", e.Text)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for to := range s.listeners {
		select {
		case to <- e:
		default:
		}
	}
}

// publishTurn tells those who listen that a workspace's agent had a turn.
func (s *Server) publishTurn(folder string) {
	s.mu.Lock()
	listened := len(s.listeners) > 0
	s.mu.Unlock()
	if !listened {
		return
	}
	if workspace, err := s.o.WorkspaceOf(folder); err == nil {
		s.publish(Event{Workspace: workspace, Kind: "turn", At: time.Now()})
	}
}

// events streams the events of workspaces, as server-sent events.
func (s *Server) events(w http.ResponseWriter, r *http.Request) {
	mine, stop := s.Listen()
	defer stop()
	if mine == nil {
		Fail(w, &Error{http.StatusServiceUnavailable, "too many clients stream events"})
		return
	}
	only := r.URL.Query().Get("workspace")
	Stream(w, r, mine, s.ending, func(e Event) []byte {
		if only != "" && only != e.Workspace {
			return nil
		}
		data, err := json.Marshal(e)
		if err != nil {
			return nil
		}
		return data
	})
}

// Stream writes events as server-sent events until ending is closed or the client is gone. data
// returns an event's data, or nil to leave it out.
func Stream(w http.ResponseWriter, r *http.Request, events <-chan Event, ending <-chan struct{}, data func(Event) []byte) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	out := http.NewResponseController(w)
	if out.Flush() != nil {
		return
	}
	for {
		select {
		case <-r.Context().Done():
			return
		case <-ending:
			return
		case e := <-events:
			text := data(e)
			if text == nil {
				continue
			}
			if _, err := fmt.Fprintf(w, "event: %s\ndata: %s\n\n", e.Kind, text); err != nil || out.Flush() != nil {
				return
			}
		}
	}
}
