//go:build unix

package main

import (
	"os/signal"
	"syscall"
)

// ignoreBrokenPipes lets a write to somebody who has gone fail, instead of ending the process by a signal.
func ignoreBrokenPipes() { signal.Ignore(syscall.SIGPIPE) }
