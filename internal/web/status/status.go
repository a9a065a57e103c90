// Package status remembers the status of an HTTP answer.
package status

import "net/http"

// A Writer passes an answer on.
type Writer struct {
	http.ResponseWriter
	Status int // that was sent; 200 before
}

// NewWriter returns a writer around another.
func NewWriter(w http.ResponseWriter) *Writer {
	return &Writer{ResponseWriter: w, Status: http.StatusOK}
}

// WriteHeader implements http.ResponseWriter.
func (w *Writer) WriteHeader(status int) {
	w.Status = status
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap is for http.ResponseController.
func (w *Writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }
