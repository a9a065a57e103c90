package view

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A form that does not come to its end is answered in time, on every page that reads one, and holds
// no connection. What comes whole has no deadline.
func TestFormsThatStop(t *testing.T) {
	before := formWait
	t.Cleanup(func() { formWait = before })
	formWait = 50 * time.Millisecond
	v := newVisitor(t)
	v.open(t, "/a")
	at, err := url.Parse(v.server.URL + "/w/" + idOf("/a") + "/")
	require.NoError(t, err)
	cookie := v.Jar.Cookies(at)[0].String()
	for _, tt := range []struct {
		page, cookie string
		status       int
	}{
		{"change", "", http.StatusUnauthorized},
		{"change", cookie, http.StatusRequestTimeout},
		{"case", cookie, http.StatusBadRequest},
		{"trust", cookie, http.StatusBadRequest},
	} {
		t.Run(fmt.Sprint(tt.page, tt.status), func(t *testing.T) {
			c, err := net.Dial("tcp", at.Host)
			require.NoError(t, err)
			defer c.Close()
			require.NoError(t, c.SetDeadline(time.Now().Add(time.Minute)))
			fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: %s\r\nOrigin: http://%s\r\nCookie: %s\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 100\r\n\r\nhow=", at.Path+tt.page, at.Host, at.Host, tt.cookie)
			response, err := http.ReadResponse(bufio.NewReader(c), nil)
			require.NoError(t, err)
			body, err := io.ReadAll(response.Body)
			require.NoError(t, err)
			require.Equal(t, tt.status, response.StatusCode, string(body))
			_, err = c.Read(make([]byte, 1))
			require.ErrorIs(t, err, io.EOF, "the connection is closed")
		})
	}
}
