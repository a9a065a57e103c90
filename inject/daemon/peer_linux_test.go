package daemon

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// stranger is another user than that of the tests.
const stranger = 65534

// beStranger runs as another user: TESTSTRANGER=listen or ask, and the path of a socket.
func beStranger(what, socket string) int {
	switch what {
	case "listen":
		listener, err := net.Listen("unix", socket)
		if err != nil {
			fmt.Println(err)
			return 1
		}
		_ = os.Chmod(socket, 0o777)
		fmt.Println("listening")
		go http.Serve(listener, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			fmt.Println("asked for", r.URL.Path)
			io.WriteString(w, `{"said": "believe me"}`)
		}))
		io.Copy(io.Discard, os.Stdin)
	case "ask":
		client := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", socket)
		}}}
		response, err := client.Get("http://memcore/v1/health")
		if err != nil {
			fmt.Println("refused:", err)
			return 0
		}
		text, _ := io.ReadAll(response.Body)
		fmt.Println("answered:", response.Status, string(text))
	}
	return 0
}

// asStranger returns a command that runs this test as another user.
func asStranger(t *testing.T, uid uint32, what, socket string) *exec.Cmd {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only the system's owner can start processes of other users")
	}
	dir, err := os.MkdirTemp("", "stranger")
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	require.NoError(t, os.Chmod(dir, 0o755))
	self, err := os.Open("/proc/self/exe")
	require.NoError(t, err)
	defer self.Close()
	path := filepath.Join(dir, "stranger") // the folder of the test's own is closed to others
	to, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755)
	require.NoError(t, err)
	_, err = io.Copy(to, self)
	require.NoError(t, err)
	require.NoError(t, to.Close())
	command := exec.Command(path)
	command.Dir, command.Env = "/", []string{"TESTSTRANGER=" + what, "TESTSOCKET=" + socket}
	command.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}, Pdeathsig: syscall.SIGKILL}
	return command
}

// openPlace returns a place without the folder permissions that protect it.
func openPlace(t *testing.T) Place {
	t.Helper()
	dir, err := os.MkdirTemp("", "open")
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	require.NoError(t, os.Chmod(dir, 0o755))
	return At(filepath.Join(dir, "run"))
}

// A daemon answers its user only, whatever the permissions of its socket.
func TestStrangerAsks(t *testing.T) {
	p := openPlace(t)
	var log bytes.Buffer
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	answered := make(chan string, 10)
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { answered <- r.URL.Path; echo("v1", stop).ServeHTTP(w, r) })
	go func() { ended <- p.Run(ctx, handler, Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}) }()
	require.Eventually(t, func() bool { _, err := p.Call(t.Context(), http.MethodGet, "/", nil, nil); return err == nil }, time.Minute, time.Millisecond)
	require.Equal(t, "/", <-answered)
	require.NoError(t, os.Chmod(p.dir, 0o755))
	require.NoError(t, os.Chmod(p.Socket(), 0o777))
	for _, c := range []struct {
		uid  uint32
		want string
	}{{stranger, "refused: "}, {12345, "refused: "}, {0, "answered: 200"}} {
		out, err := asStranger(t, c.uid, "ask", p.Socket()).CombinedOutput()
		require.NoError(t, err, string(out))
		require.True(t, strings.HasPrefix(string(out), c.want), "user %d: %s", c.uid, out)
	}
	require.Equal(t, "/v1/health", <-answered)
	stop()
	require.NoError(t, <-ended)
	require.Empty(t, answered, "no request of a stranger's came as far as the handler")
	require.Equal(t, 2, strings.Count(log.String(), "connection refused"), log.String())
	require.Contains(t, log.String(), fmt.Sprintf("user %d, not you", stranger))
}

// A client neither asks nor believes another user's process at the socket.
func TestStrangerListens(t *testing.T) {
	for name, after := range map[string]func(p Place){
		"folder of theirs": func(Place) {},
		"folder open to them": func(p Place) {
			require.NoError(t, os.Chown(p.dir, os.Geteuid(), -1))
			require.NoError(t, os.Chmod(p.dir, 0o777))
		},
		"closed since": func(p Place) {
			require.NoError(t, os.Chown(p.dir, os.Geteuid(), -1))
			require.NoError(t, os.Chmod(p.dir, 0o700))
		},
		"link to theirs": func(p Place) {
			require.NoError(t, os.Rename(p.dir, p.dir+"-theirs"))
			require.NoError(t, os.Symlink(p.dir+"-theirs", p.dir))
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := openPlace(t)
			command := asStranger(t, stranger, "listen", p.Socket())
			require.NoError(t, os.Mkdir(p.dir, 0o755))
			require.NoError(t, os.Chown(p.dir, stranger, stranger))
			in, err := command.StdinPipe()
			require.NoError(t, err)
			out, err := command.StdoutPipe()
			require.NoError(t, err)
			require.NoError(t, command.Start())
			line := make([]byte, 100)
			n, err := out.Read(line)
			require.NoError(t, err)
			require.Equal(t, "listening\n", string(line[:n]))
			after(p)
			var said struct{ Said string }
			_, err = p.Call(t.Context(), http.MethodPost, "/v1/hook", map[string]string{"prompt": "what nobody else may know"}, &said)
			require.ErrorIs(t, err, ErrAway)
			require.Empty(t, said.Said)
			if name == "closed since" {
				require.ErrorContains(t, err, "the other end of the socket is user")
			}
			if _, err := net.Dial("unix", p.Socket()); err != nil {
				t.Fatal("the stranger did not listen at all: ", err)
			}
			require.NoError(t, in.Close())
			rest, err := io.ReadAll(out)
			require.NoError(t, err)
			require.NoError(t, command.Wait())
			require.Empty(t, string(rest), "nothing was asked")
		})
	}
}

// A daemon does not follow links in place of its files, nor use a folder that others can write to.
func TestLinks(t *testing.T) {
	precious := filepath.Join(t.TempDir(), "precious")
	require.NoError(t, os.WriteFile(precious, []byte("mine"), 0o600))
	p := At(filepath.Join(t.TempDir(), "run"))
	require.NoError(t, os.Mkdir(p.dir, 0o700))
	for _, name := range []string{"daemon.log", "daemon.lock", startLock, "memcore.sock", "newest.json"} {
		require.NoError(t, os.Symlink(precious, p.File(name)))
	}
	_, err := p.Log(0)
	require.Error(t, err)
	stop, ended := run(t, p, "v1", Options{})
	stop()
	require.NoError(t, <-ended)
	text, err := os.ReadFile(precious)
	require.NoError(t, err)
	require.Equal(t, "mine", string(text))

	open := At(filepath.Join(t.TempDir(), "run"))
	require.NoError(t, os.Mkdir(open.dir, 0o700))
	require.NoError(t, os.Chmod(open.dir, 0o1777))
	_, err = open.Log(0)
	require.ErrorContains(t, err, "only its owner")
	require.ErrorContains(t, open.Run(t.Context(), nil, Options{Logger: quietLog}), "only its owner")
	require.ErrorContains(t, open.Start(t.Context(), Starter{Binary: "/bin/false"}), "only its owner")
	require.NoError(t, os.Chmod(open.dir, 0o755))
	file, err := open.Log(0)
	require.NoError(t, err)
	require.NoError(t, file.Close())
	info, err := os.Stat(open.dir)
	require.NoError(t, err)
	require.EqualValues(t, 0o700, info.Mode().Perm())
	require.NoError(t, os.WriteFile(open.File("daemon.log"), []byte("old lines"), 0o600))
	file, err = open.Log(5)
	require.NoError(t, err)
	require.NoError(t, file.Close())
	text, err = os.ReadFile(open.File("daemon.log"))
	require.NoError(t, err)
	require.Empty(t, text)
}
