package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/memcore/memcore/inject/setup"
	"github.com/memcore/memcore/internal/app"
	"github.com/memcore/memcore/internal/kind"
	"github.com/memcore/memcore/internal/text/plain"
)

// noServer is the address that ends the use of a memory service.
const noServer = "none"

// useServer makes memcore ask a memory service, too: it checks the key, then sets the address in
// the user's configuration. A wrong address or key changes nothing.
func useServer(ctx context.Context, a *cli, address string) error {
	if address == noServer {
		if err := enterServer(ctx, a, ""); err != nil {
			return err
		}
		if err := app.RemoteOf(a.Workspace).KeepKey(""); err != nil {
			return fmt.Errorf("init --server: %w", err)
		}
		a.note("no memory service is asked any more")
		return nil
	}
	key, err := serverKey(ctx, a)
	if err != nil {
		return err
	}
	who, err := app.RemoteOf(a.Workspace).CheckKey(ctx, address, key)
	if err != nil {
		return keepHint(err, "init --server: nothing was written")
	}
	if err := app.RemoteOf(a.Workspace).KeepKey(key); err != nil {
		return fmt.Errorf("init --server: the key is not kept: %w", err)
	}
	if err := enterServer(ctx, a, address); err != nil {
		return err
	}
	text := fmt.Sprintf("memory service of %s: you are %s and may %s", who.Tenant, plain.Member(who.User, who.Teams), strings.Join(who.Rights, ", "))
	if !who.Expires.IsZero() {
		text += ", until " + who.Expires.Local().Format(time.DateOnly)
	}
	a.note("%s", text)
	return nil
}

// keepHint adds words to an error and keeps its hint.
func keepHint(err error, before string) error {
	with := fmt.Errorf("%s: %w", before, err)
	if hint := kind.HintOf(err); hint != "" {
		return kind.Hint(with, hint)
	}
	return with
}

// maxKeyLine is in bytes.
const maxKeyLine = 8 << 10

// serverKey returns the key: from the environment, typed without echo, or a line of standard input.
func serverKey(ctx context.Context, a *cli) (string, error) {
	variable := a.Settings.Service.KeyEnv
	if key := strings.TrimSpace(os.Getenv(variable)); key != "" {
		return key, nil
	}
	var line []byte
	var err error
	if f, ok := a.stdin.(*os.File); ok && isTerminal(f) {
		fmt.Fprint(a.stderr, "Key of the memory service (it is not shown): ")
		line, err = readHidden(ctx, int(f.Fd()))
		fmt.Fprintln(a.stderr)
	} else {
		line, err = bufio.NewReader(io.LimitReader(a.stdin, maxKeyLine)).ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			err = nil
		}
	}
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return "", fmt.Errorf("init --server: read the key: %w", err)
	}
	key := strings.TrimSpace(string(line))
	if key == "" {
		return "", kind.Hint(kind.Usagef("init --server: no key was given"), "pass it on standard input or in "+variable)
	}
	return key, nil
}

// readHidden reads a line without echo, which it turns on again if ctx ends.
func readHidden(ctx context.Context, fd int) (line []byte, err error) {
	state, err := term.GetState(fd)
	if err != nil {
		return nil, err
	}
	typed := make(chan struct{})
	go func() { // it may live until the process ends
		defer close(typed)
		line, err = term.ReadPassword(fd)
	}()
	select {
	case <-typed:
		return line, err
	case <-ctx.Done():
		return nil, errors.Join(ctx.Err(), term.Restore(fd, state))
	}
}

// enterServer sets the address in the user's own configuration, and reads that again.
func enterServer(ctx context.Context, a *cli, address string) error {
	if address == a.Settings.Service.URL {
		return nil
	}
	if a.UserFile() == "" {
		return kind.Hint(kind.Usagef("init --server: there is no home folder for the configuration"), "set HOME")
	}
	value := address
	if value == "" {
		value = `""`
	}
	var p setup.Proposal
	err := p.AddSettings(a.SetupOptions(), a.UserFile(), []setup.Setting{{Key: "service.url", Value: value}}, false)
	if err != nil {
		return fmt.Errorf("init --server: %w", err)
	}
	journal, err := a.Notes().Journal()
	if err != nil {
		return err
	}
	if err := a.SetupOptions().Apply(ctx, journal, p.Changes); err != nil {
		return fmt.Errorf("init --server: %w", err)
	}
	for _, c := range p.Changes {
		a.note("wrote %s", plain.OneLine(c.Path))
	}
	if err := a.Config.Load(); err != nil {
		return err
	}
	if origin := a.Origin["service.url"]; a.Settings.Service.URL != address {
		return kind.Usagef("init --server: %s sets another address: remove it", origin)
	}
	return nil
}
