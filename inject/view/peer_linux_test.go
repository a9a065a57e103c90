package view

import (
	"net"
	"net/http"
	"os"
	"runtime"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// Another user of this machine, who has read the link from the list of processes, gets nothing and
// does not use it up.
func TestStrangerHasTheLink(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can be others")
	}
	site := NewSite(New(fakeMemories{}, "v1"))
	defer site.Close(t.Context())
	link, err := site.Link("/a")
	require.NoError(t, err)
	stranger := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, Dial: dialAsStranger}}
	response, err := stranger.Get(link.URL)
	require.NoError(t, err)
	response.Body.Close()
	require.Equal(t, 403, response.StatusCode)
	response, err = http.Get(link.URL)
	require.NoError(t, err)
	response.Body.Close()
	require.Equal(t, 401, response.StatusCode, "the link opened; this client keeps no cookie")
}

// dialAsStranger connects with a socket of another user.
func dialAsStranger(network, address string) (net.Conn, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := syscall.Setfsuid(12345); err != nil {
		return nil, err
	}
	defer syscall.Setfsuid(0)
	return net.Dial(network, address)
}
