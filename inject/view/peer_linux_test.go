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
	_, err = stranger.Get(link.URL)
	require.Error(t, err, "the connection is closed")
	response, err := http.Get(link.URL)
	require.NoError(t, err)
	response.Body.Close()
	require.Equal(t, 401, response.StatusCode, "the link opened; this client keeps no cookie")
}

// The table tells who has the other end of a connection.
func TestOwners(t *testing.T) {
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	for name, tt := range map[string]struct {
		dial func(network, address string) (net.Conn, error)
		uid  int
		gone bool
	}{
		"mine":     {dial: net.Dial, uid: os.Getuid()},
		"stranger": {dial: dialAsStranger, uid: 12345},
		"closed":   {dial: net.Dial, gone: true},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "stranger" && os.Getuid() != 0 {
				t.Skip("only root can be others")
			}
			there, err := tt.dial("tcp4", listener.Addr().String())
			require.NoError(t, err)
			defer there.Close()
			here, err := listener.Accept()
			require.NoError(t, err)
			defer here.Close()
			if tt.gone {
				require.NoError(t, there.Close())
			}
			ends := []*net.TCPAddr{here.RemoteAddr().(*net.TCPAddr), here.LocalAddr().(*net.TCPAddr)}
			uid, found := ownerOf(ends[0], ends[1])
			require.Equal(t, tt.gone, !found)
			if !tt.gone {
				require.Equal(t, tt.uid, uid)
			}
			require.Equal(t, name == "mine", isOurs(here))
		})
	}
	require.False(t, isOurs(fakeConn{}))
}

// A fakeConn has no address of TCP.
type fakeConn struct{ net.Conn }

func (fakeConn) RemoteAddr() net.Addr { return &net.UnixAddr{} }
func (fakeConn) LocalAddr() net.Addr  { return &net.UnixAddr{} }

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
