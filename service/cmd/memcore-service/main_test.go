package main

import (
	"bytes"
	"io"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/service/postgres/postgrestest"
)

func TestMain(m *testing.M) { os.Exit(postgrestest.Main(m)) }

// alone lets commands see nothing of this machine.
func alone(t *testing.T) {
	t.Helper()
	for name, value := range map[string]string{"HOME": t.TempDir(), "XDG_CACHE_HOME": "", "XDG_STATE_HOME": "", databaseVariable: "", operatorVariable: strings.Repeat("k", minOperatorKey)} {
		t.Setenv(name, value)
	}
}

// Who makes a mistake learns which, before anything happens.
func TestMistakes(t *testing.T) {
	alone(t)
	for args, want := range map[string]string{
		"key list":                          "a name is empty",
		"user delete ann --yes":             "a name is empty",
		"tenant delete acme":                "cannot be undone",
		"--keep -1h":                        "--keep is -1h0m0s",
		"":                                  "no database is named",
		"migrate --database nonsense":       "cannot parse",
		"tenant list --server nonsense":     "--server",
		"key create --tenant acme --admin":  "unknown flag",
		"tenant set acme":                   "nothing is to be changed",
		"--upstream openai=ftp://127.0.0.1": "--upstream openai",
	} {
		var stderr bytes.Buffer
		require.NotZero(t, run(strings.Fields(args), io.Discard, &stderr), args)
		require.Contains(t, stderr.String(), want, args)
	}
}

// A logged is closed at the first line with a text.
type logged struct {
	text string
	once sync.Once
	done chan struct{}
}

func (l *logged) Write(line []byte) (int, error) {
	if bytes.Contains(line, []byte(l.text)) {
		l.once.Do(func() { close(l.done) })
	}
	return len(line), nil
}

// A database that starts beside what needs it is waited for.
func TestDatabaseStartsLater(t *testing.T) {
	alone(t)
	server := postgrestest.New(t)
	require.NoError(t, server.Stop())
	waits := &logged{text: "waiting for the database", done: make(chan struct{})}
	code := make(chan int)
	go func() {
		code <- run([]string{"migrate", "--verbose", "--database", server.DSN("owner", "postgres")}, io.Discard, waits)
	}()
	select {
	case <-waits.done:
	case got := <-code:
		t.Fatalf("ended with %d at once", got)
	}
	require.NoError(t, server.Start())
	require.Zero(t, <-code)
}
